#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the blueprint that rerun.rbl is, with the installed rerun-sdk: rerun-blueprint.py OUT.rbl

The entities are the topics of a recording of mcapsink, as Rerun's importer of MCAP names them.
"""

import sys

import rerun.blueprint as rrb

if len(sys.argv) != 2:
    sys.exit(__doc__)
rrb.Blueprint(
    rrb.Horizontal(
        rrb.Spatial3DView(origin="/", name="Map and scan", contents=["/map", "/points", "/tf"]),
        rrb.Vertical(
            rrb.DataframeView(origin="/diagnostics", name="Status and scores"),
            rrb.DataframeView(origin="/points/pose", name="Poses"),
        ),
        column_shares=[3, 2]),
    collapse_panels=True,
).save("gst-ndt", sys.argv[1])
