# SPDX-License-Identifier: MIT
# To be sourced (bash): the elements, tools and bindings of a build folder for this shell, without
# installing them. NDT_BUILD names the folder (default: build in the project's root).

_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
_build=$(cd "${NDT_BUILD:-$_root/build}" && pwd) || return 1

for _plugin in "$_build"/gst/*/libgst*.so; do
  case $_plugin in
  */gst/pointcloud/*) ;;
  *) GST_PLUGIN_PATH_1_0=${_plugin%/*}${GST_PLUGIN_PATH_1_0:+:$GST_PLUGIN_PATH_1_0} ;;
  esac
done
export GST_PLUGIN_PATH_1_0
export GI_TYPELIB_PATH=$_build/gst/pointcloud${GI_TYPELIB_PATH:+:$GI_TYPELIB_PATH}
export LD_LIBRARY_PATH=$_build/gst/pointcloud${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH=$_build/ndtcore/tools:$_build/gst/mcap:$_build/gst/replay:$_build/gst/scans:$_build/pipelines:$PATH
unset _root _build _plugin
