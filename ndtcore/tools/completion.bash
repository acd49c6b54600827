# SPDX-License-Identifier: MIT
# bash completion of ndt-map, ndt-bag, ndt-calibrate, ndt-replay: commands and options as the tools' own --help lists them.

_gst_ndt_complete ()
{
  local tool=$1 cur=$2 previous=$3 command=
  [ "$COMP_CWORD" -gt 1 ] && [[ ${COMP_WORDS[1]} != -* ]] && command=${COMP_WORDS[1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ] && [[ $cur != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$("$tool" --help 2>/dev/null |
      sed -n "s/^\(usage: \| *\)${tool##*/} \([a-z][a-z]*\) .*/\2/p" | sort -u)" -- "$cur")
  elif [[ $cur == -* ]]; then
    # An option with a value ends in =, behind which files are completed.
    mapfile -t COMPREPLY < <(compgen -W "$("$tool" ${command:+"$command"} --help 2>/dev/null |
      grep -o -e '--[a-z][a-z-]*=\?' | sort -ru | awk '{ name = $0; sub (/=$/, "", name) } !seen[name]++')" -- "$cur")
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
  else
    case $previous in
    --encoding | -e) mapfile -t COMPREPLY < <(compgen -W "ascii binary binary_compressed" -- "$cur") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "${cur#=}") && compopt -o filenames ;;
    esac
  fi
}
complete -F _gst_ndt_complete ndt-map ndt-bag ndt-calibrate ndt-replay
