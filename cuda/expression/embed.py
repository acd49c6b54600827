#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Headers as a C array of names and texts, for a compiler at run time.

    embed.py OUTPUT.c HEADER...
"""
import json
import os
import sys


def main():
    with open(sys.argv[1], 'w', encoding='utf-8') as out:
        out.write('#include "cuda/expression/ndt-expr-cuda-compile.h"\n')
        out.write('const NdtExprCudaHeader ndt_expr_cuda_headers[] = {\n')
        for path in sys.argv[2:]:
            with open(path, encoding='utf-8') as file:
                lines = file.read().split('\n')
            # A literal a line: compilers limit the length of one, not of their sum.
            out.write(f'    {{{json.dumps(os.path.basename(path))},\n')
            for line in lines:
                text = line.encode('ascii', 'replace').decode()
                text = text.replace('\\', '\\\\').replace('"', '\\"').replace('?', '\\?')
                out.write(f'        "{text}\\n"\n')
            out.write('    },\n')
        out.write('    {0, 0},\n};\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
