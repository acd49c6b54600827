#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What the page of pointcloudview draws, and on which screens (TAP).

usage: test-page.py NDT_MAP
"""

import math
import os
import time
import unittest

import pipeline
import numpy as np

import browser
import unittest_tap
from pictures import pixels
from pipeline import MAP, Pipeline

BACKGROUND = np.array([17, 21, 27])
POLE = (7.0, -4.0, 8.0)  # x, y and height


def write_pole_map(path):
    """A floor of 40 m × 40 m, and a pole."""
    floor = [(x, y, 0) for x in np.arange(-20, 20, 0.5) for y in np.arange(-20, 20, 0.5)]
    pole = [(POLE[0] + a, POLE[1] + b, z) for z in np.arange(0, POLE[2], 0.05)
            for a in (-0.1, 0, 0.1) for b in (-0.1, 0, 0.1)]
    points = np.array(floor + pole, "<f4")
    with open(path, "wb") as file:
        file.write((f"VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH {len(points)}\n"
                    f"HEIGHT 1\nPOINTS {len(points)}\nDATA binary\n").encode() + points.tobytes())


def has_map(page):
    return int(page.data("scans") or 0) > 1 and int(page.data("mapPoints") or 0) > 1000


@unittest.skipUnless(browser.find() or os.environ.get("CI"), "no chromium on this machine")
class Page(unittest.TestCase):
    def test_pole_is_where_it_should_be(self):
        """The top of a pole, seen from above, is on the pixel that its place in the map says."""
        path = os.path.join(pipeline.FOLDER.name, "pole.pcd")
        write_pole_map(path)
        with Pipeline(f"map-location={path}", middle="identity") as running:
            page = browser.Page(running.url)
            try:
                browser.wait(lambda: has_map(page))
                page.evaluate("document.getElementById('pause').click(); document.getElementById('follow').click();"
                              "document.getElementById('top').click()")
                # The camera: 50 m above a place of the floor beside the pole. The scan, without a pose, is hidden.
                page.evaluate("(() => { const s = viewScene; s.scan = null; s.lineSets.clear(); s.distance = 50;"
                              " s.target = s.local([4, 0, 0]); })()")
                page.evaluate("document.getElementById('map').click(); document.getElementById('map').click()")
                time.sleep(1)
                picture = pixels(page.picture())
                # A camera of 0.9 rad from edge to edge, north up, and nothing of the page's own arithmetic.
                height, width = picture.shape[:2]
                scale = height / 2 / math.tan(0.45) / (50 - POLE[2])
                x = width / 2 + scale * (POLE[0] - 4)
                y = height / 2 - scale * POLE[1]
                # Yellow: the top of the range of heights, at three quarters of its light, as maps are drawn.
                yellow = (picture[:, :, 0] > 120) & (picture[:, :, 1] > 120) & (picture[:, :, 2] < 80)
                rows, columns = np.nonzero(yellow)
                self.assertGreater(len(rows), 3)
                top = np.argmax(np.hypot(columns - width / 2, rows - height / 2))
                # Corners of the pole's top are 0.14 m from its middle; points are 2 pixels wide.
                np.testing.assert_allclose([columns[top], rows[top]], [x, y], atol=0.15 * scale + 2)
                # It leans outwards from where the camera is above, and is nowhere else.
                foot = height / 2 / math.tan(0.45) / 50
                low = np.array([width / 2 + foot * (POLE[0] - 4), height / 2 - foot * POLE[1]])
                along = np.array([x, y]) - low
                for row, column in zip(rows, columns):
                    at = np.array([column, row]) - low
                    off = abs(along[0] * at[1] - along[1] * at[0]) / np.hypot(*along)
                    self.assertLess(off, 0.2 * scale + 3, (column, row))
            finally:
                page.close()

    def test_colours(self):
        """Each way of colouring makes another picture of the same scan; with residuals most of it is dark."""
        with Pipeline(f"role=ground-truth map-location={MAP}", middle="identity") as running:
            page = browser.Page(running.url)
            try:
                browser.wait(lambda: has_map(page) and page.evaluate("viewScene.scan.residual !== null"))
                page.evaluate("document.getElementById('pause').click(); document.getElementById('top').click();"
                              "document.getElementById('map').click(); viewScene.distance = 25")
                pictures = []
                for value in range(4):
                    page.evaluate(f"(() => {{ const c = document.getElementById('color'); c.value = {value};"
                                  " c.onchange(); })()")
                    time.sleep(1)
                    pictures.append(pixels(page.picture()))
                for a in range(4):
                    for b in range(a):
                        self.assertGreater((pictures[a] != pictures[b]).any(axis=2).sum(), 500, (a, b))
                drawn = np.abs(pictures[3] - pictures[0]).max(axis=2) > 0
                colour = pictures[3][drawn]
                # The lower half of the colours has more blue than red.
                self.assertGreater((colour[:, 2] > colour[:, 0]).mean(), 0.7)
            finally:
                page.close()

    def test_phone(self):
        """On the screen of a phone all that is pressed is there, nothing covers another, and a finger turns."""
        with Pipeline("allow-control=true") as running:
            page = browser.Page(running.url)
            try:
                page.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
                page.call("Emulation.setTouchEmulationEnabled", enabled=True)
                browser.wait(lambda: has_map(page))
                page.evaluate("document.getElementById('pause').click()")
                time.sleep(1)
                self.assertEqual(page.evaluate("[innerWidth, document.documentElement.scrollWidth]"), [390, 390])
                boxes = page.evaluate("[...document.querySelectorAll('nav button, nav select')].map(e => {"
                                      " const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; })")
                status = page.evaluate("(() => { const r = document.getElementById('status').getBoundingClientRect();"
                                       " return [r.left, r.top, r.right, r.bottom]; })()")
                self.assertEqual(len(boxes), 6)
                for box in boxes:
                    self.assertTrue(box[0] >= 0 and box[2] <= 390 and box[3] <= 844, box)
                    self.assertGreaterEqual(box[3] - box[1], 24)  # a finger: WCAG 2.2, 2.5.8
                    apart = box[0] >= status[2] or box[2] <= status[0] or box[1] >= status[3] or box[3] <= status[1]
                    self.assertTrue(apart, (box, status))
                before, yaw = pixels(page.picture()), page.evaluate("viewScene.yaw")
                self.assertEqual(before.shape, (2 * 844, 2 * 390, 3))
                self.assertGreater((np.abs(before - BACKGROUND).max(axis=2) > 12).mean(), 0.02)
                for kind, points in (("touchStart", [(200, 500)]), ("touchMove", [(300, 500)]), ("touchEnd", [])):
                    page.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y} for x, y in points])
                # 0.006 rad a pixel; the first pixels of a touch may be swallowed as a wavering finger.
                self.assertAlmostEqual(page.evaluate("viewScene.yaw"), yaw - 0.6, delta=0.1)
                time.sleep(1)
                self.assertGreater((pixels(page.picture()) != before).any(axis=2).mean(), 0.02)
            finally:
                page.close()


unittest_tap.run()
