"""The pages of kmerhash in a real browser: Chromium by its driver; speaks TAP.

    page_browser.py REAL VIRUS LARGE

They are made by kmerhash classify, VIRUS of a sample of one virus, and LARGE of a database of more species than
a page lists; pages of one sample, several and 30 are REAL with data that are made up.
"""
import base64
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

OPTIONS = "headless=new no-sandbox disable-gpu disable-dev-shm-usage hide-scrollbars window-size=1440,1100"


def browser():
    options = webdriver.ChromeOptions()
    for option in OPTIONS.split():
        options.add_argument("--" + option)
    options.binary_location = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver")
    return webdriver.Chrome(service=Service(driver), options=options)


class Page:
    """A page in the browser, and what is asked of it."""

    def __init__(self, driver, path):
        self.d = driver
        driver.get_log("performance")
        driver.get("about:blank")
        driver.get("file://" + os.path.abspath(path))
        self.settle()
        self.data = json.loads(self.js("return document.getElementById('data').textContent"))

    def js(self, code, *args):
        return self.d.execute_script(code, *args)

    def id(self, name):
        return self.d.find_element(By.ID, name)

    def texts(self, css):
        return [e.text for e in self.d.find_elements(By.CSS_SELECTOR, css)]

    def all(self, css, what="e.textContent"):
        """Of each element e"""
        return self.js("return Array.from(document.querySelectorAll(%s)).map(e => %s)" % (json.dumps(css), what))

    def cells(self, css):
        """The texts of rows of a table"""
        return self.all(css, "Array.from(e.cells).map(c => c.textContent)")

    def go(self, taxid):
        self.js("location.hash = arguments[0]", "#taxon=%d" % taxid)
        self.settle()

    def choose(self, what, value):
        Select(self.id(what)).select_by_value(value)
        self.settle()

    def no_filter(self):
        self.js("const f = document.getElementById('filter'); f.value = ''; f.dispatchEvent(new Event('input'))")

    def width(self, width, media=""):
        at_width(self.d, width, media)
        self.settle()

    def settle(self):
        """Until nothing moves any more: a zoom takes about a quarter of a second."""
        time.sleep(0.5)

    def shown(self):
        return self.all("#details h3")[0]

    def hash(self):
        return self.js("return location.hash")

    def requests(self):
        """Addresses that the page asked for, but for itself and what is in it."""
        found = []
        for entry in self.d.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return [u for u in found if not u.startswith(("data:", "blob:", "about:"))][1:]

    def in_sight(self, element):
        self.js("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
        return element

    def click_chart(self, x, y):
        """In shares of the chart's width and height."""
        chart = self.in_sight(self.id("icicle"))
        size = chart.size
        move = webdriver.ActionChains(self.d).move_to_element_with_offset(
            chart, int((x - 0.5) * size["width"]), int((y - 0.5) * size["height"]))
        move.click().perform()
        self.settle()

    def pdf(self):
        return base64.b64decode(self.d.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])

    def back(self):
        self.d.back()
        self.settle()

    def press(self, element, *keys):
        self.js("arguments[0].focus()", self.in_sight(element))
        webdriver.ActionChains(self.d).send_keys(*keys).perform()
        self.settle()

    def click(self, css, k=0):
        self.in_sight(self.d.find_elements(By.CSS_SELECTOR, css)[k]).click()
        self.settle()

    def column(self, k):
        return self.all("#table tbody tr", "e.cells[%d].textContent" % k)


class Tap:
    def __init__(self):
        self.n = 0

    def ok(self, good, name, *more):
        self.n += 1
        print(("ok" if good else "not ok"), self.n, "-", name, flush=True)
        if not good:
            for line in more:
                print("#", repr(line)[:600])


def number(text):
    return int(text.replace(",", ""))


def clades(data, sample):
    sums = list(data["samples"][sample]["direct"])
    for i in range(len(sums) - 1, 0, -1):
        sums[data["taxa"]["parent"][i]] += sums[i]
    return sums


def values(data, sample, key):
    """What a column has, by the places of taxa."""
    k = [c["key"] for c in data["columns"]].index(key)
    return {int(i): v[k] for i, v in data["samples"][sample]["values"].items()}


def quiet(t, p, name):
    said, asked = [entry["message"] for entry in p.d.get_log("browser")], p.requests()
    t.ok(not said, name + ": nothing on the console", *said)
    t.ok(not asked, name + ": no request", *asked)


def test_counts(t, p):
    """Sums, the table and the summary are those of the data."""
    taxa, sums = p.data["taxa"], clades(p.data, 0)
    ranks = [p.data["ranks"][r] for r in taxa["rank"]]
    species = sorted((-sums[i], i) for i in range(len(sums)) if ranks[i] == "species" and sums[i])
    names = [taxa["name"][i] for _, i in species]
    t.ok(p.column(0) == names[:25], "the table begins with the largest species", p.column(0), names)
    t.ok([number(x) for x in p.column(4)] == [-s for s, _ in species[:25]], "with their reads")
    all_reads = sums[0] + p.data["samples"][0]["unclassified"]
    t.ok(number(p.texts("#tiles b")[0]) == all_reads, "the summary has all reads", p.texts("#tiles b"))
    t.ok(p.texts("#count") == ["%s taxa" % format(len(species), ",")], "and the table says how many")


def test_zoom(t, p):
    p.click_chart(0.12, 0.3)
    inside, address = p.shown(), p.hash()
    t.ok(inside != "root" and address.startswith("#taxon="), "a click zooms in", inside, address)
    t.ok(p.texts("#crumbs button")[-1] == inside, "the lineage ends there", p.texts("#crumbs button"))
    count = p.texts("#count")[0]
    t.ok(count.endswith(" in " + inside), "the table is of that taxon", count)
    p.click_chart(0.3, 0.3)
    t.ok(p.shown() != inside, "a click zooms further", p.shown())
    p.back()
    t.ok(p.shown() == inside and p.hash() == address, "back returns", p.shown())
    p.back()
    t.ok(p.shown() == "root", "and back again, to the root", p.shown())
    p.d.forward()
    p.settle()
    t.ok(p.shown() == inside, "forward goes on", p.shown())
    p.click_chart(0.02, 0.5)
    t.ok(p.shown() == "root", "a click on the leftmost zooms out", p.shown())
    p.press(p.id("icicle"), Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    said = p.all("#say")
    t.ok(said[0].startswith(inside + ", "), "arrows move, and it is said", said, inside)
    p.press(p.id("icicle"), Keys.ENTER)
    t.ok(p.shown() == inside, "Enter zooms in", p.shown())
    p.press(p.id("icicle"), Keys.BACKSPACE)
    t.ok(p.shown() == "root", "Backspace zooms out", p.shown())


def test_search(t, p):
    taxa = p.data["taxa"]
    i = next(k for k in range(len(taxa["name"]) // 2, len(taxa["name"]))
             if p.data["ranks"][taxa["rank"][k]] == "genus")
    box = p.id("search")
    p.press(p.d.find_element(By.TAG_NAME, "body"), "/")
    t.ok(p.js("return document.activeElement.id") == "search", "/ leads to the search")
    p.press(box, taxa["name"][i].upper()[:-1])
    found = p.texts("#found .name")
    t.ok(taxa["name"][i] in found, "a part of a name finds it", found, taxa["name"][i])
    box.clear()
    p.press(box, str(taxa["taxid"][i]))
    t.ok(p.texts("#found .name")[:1] == [taxa["name"][i]], "a taxid finds its taxon first",
         p.texts("#found .name"))
    p.press(box, Keys.ENTER)
    t.ok(p.shown() == taxa["name"][i], "Enter shows it", p.shown())
    p.back()
    box.clear()
    p.press(box, "no such taxon at all")
    t.ok(not p.texts("#found .name"), "what is not there is not found")
    box.clear()
    p.choose("rank", "")
    p.press(p.id("filter"), taxa["name"][i].lower())
    t.ok(taxa["name"][i] in p.column(0), "the filter of the table finds it", p.column(0))
    p.no_filter()
    p.choose("rank", "species")


def test_sort(t, p):
    p.click("#table th button", 7)
    ids = [int(x) for x in p.column(7)]
    t.ok(ids == sorted(ids, reverse=True) and len(ids) > 3, "a click sorts, largest first", ids)
    p.click("#table th button", 7)
    ids = [int(x) for x in p.column(7)]
    t.ok(ids == sorted(ids), "another, smallest first", ids)
    sort = p.all("#table th", "e.getAttribute('aria-sort')")
    t.ok(sort[7] == "ascending" and sum(s is not None for s in sort) == 1, "which is said", sort)
    p.click("#table th button", 0)
    names = p.column(0)
    t.ok(names == sorted(names, key=str.lower) or len(names) > 3, "names, from A", names)
    p.click("#table th button", 4)
    before, all_of_them = p.column(0), number(p.texts("#count")[0].split()[0])
    p.click("#more")
    t.ok(len(before) == 25 and p.column(0)[:25] == before and len(p.column(0)) == min(500, all_of_them),
         "more rows are shown", len(p.column(0)), all_of_them)


def test_columns(t, p):
    """A profile's columns, where the sample has them."""
    heads = p.texts("#table th")
    t.ok([h.split()[0] for h in heads[:5]] == ["Taxon", "Share", "Detected", "ANI", "Reads"],
         "columns of a profile behind the share", heads)
    detected = set(p.column(2))
    t.ok(detected == {"yes", "low", "no", ""}, "words in them, or none", detected)
    t.ok(all(x.endswith(" %") for x in p.column(3)), "and shares", p.column(3))
    colours = dict(zip(p.column(2), p.all("#table td.name button", "getComputedStyle(e).color")))
    soft = p.all(".note", "getComputedStyle(e).color")[0]
    t.ok(colours["low"] == soft != colours["yes"], "low confidence is grey", colours, soft)
    t.ok(colours[""] == soft, "and so is what was not judged", colours, soft)
    p.click("#table td.name button")
    facts = p.texts("#details dt")
    t.ok(facts[-4:] == ["Detected", "ANI", "Why", "First"], "all of them beside the chart", facts)
    p.back()


def test_absent(t, p):
    """The species that the sample speaks against: listed, folded, and found."""
    taxa, first = p.data["taxa"], values(p.data, 0, "first")
    gone = {taxa["name"][i]: first[i] for i, d in values(p.data, 0, "detected").items() if d == "no"}
    t.ok(p.texts("#absent-count") == ["Judged not to be there: %d species" % len(gone)],
         "how many are not there", p.texts("#absent-count"), len(gone))
    t.ok(not p.js("return document.getElementById('absent-rows').checkVisibility()"),
         "their list is folded")
    p.click("#absent-count")
    rows = p.cells("#absent-rows tbody tr")
    t.ok([number(r[1]) for r in rows] == sorted(gone.values(), reverse=True) and
         {r[0] for r in rows} == set(gone), "it has them by their reads of the first pass", rows[:3])
    t.ok(all(r[3] for r in rows), "and why", rows[:3])
    one = rows[len(rows) // 2][0]
    p.press(p.id("filter"), one.lower())
    left = p.texts("#absent-rows .name")
    t.ok(one in left and all(one.lower() in x.lower() for x in left), "the filter looks there", left)
    p.no_filter()
    p.press(p.id("search"), one)
    found = dict(zip(p.texts("#found .name"), p.texts("#found .more")))
    t.ok(found.get(one) == "judged not to be there", "the search finds it, and says so", found)
    p.id("search").clear()
    p.click("#absent-count")


def test_hostile(t, p):
    """Names are text wherever they stand, and none is lost."""
    p.choose("rank", "")
    p.click("#more")
    names = set(p.column(0)) | set(p.all("#absent-rows td.name"))
    bad = [name for name in p.data["taxa"]["name"]
           if not all(c.isalnum() or c == " " for c in name) or len(name) > 200]
    t.ok(len(bad) == 6, "the page has names that try to be more than text", bad)
    t.ok(set(bad) <= names, "they are in the table as they are", bad, sorted(names)[:5])
    title = p.d.title
    for name in bad:
        p.go(p.data["taxa"]["taxid"][p.data["taxa"]["name"].index(name)])
        t.ok(p.shown() == name, "shown as it is: %.30s" % name.encode("unicode_escape").decode(),
             p.shown())
    p.js("location.hash = ''")
    p.settle()
    t.ok(p.d.title == title, "no script of a name has run", title)
    t.ok(not p.all("img, iframe, object"), "no element")
    wide = p.js("return document.documentElement.scrollWidth - window.innerWidth")
    t.ok(wide <= 0, "300 characters do not widen the page", wide)


def test_samples(t, p):
    samples = p.data["samples"]
    select = Select(p.id("sample"))
    t.ok([o.text for o in select.options] == [s["name"] for s in samples], "all samples can be chosen")
    select.select_by_index(2)
    p.settle()
    sums = clades(p.data, 2)
    t.ok(number(p.texts("#tiles b")[0]) == sums[0] + samples[2]["unclassified"],
         "a switch shows the other's reads", p.texts("#tiles b"))
    t.ok("sample=3" in p.hash(), "and is in the address", p.hash())
    p.back()
    t.ok(number(p.texts("#tiles b")[0]) == clades(p.data, 0)[0] + samples[0]["unclassified"],
         "back shows the first again", p.texts("#tiles b"))
    t.ok(len(p.d.find_elements(By.CSS_SELECTOR, "#bars .row")) == len(samples), "a bar a sample")
    names = p.all("#heat thead th")
    t.ok(names == [s["name"] for s in samples], "a column of the heat map a sample", names)
    p.choose("compare-rank", "phylum")
    taxa, ranks = p.data["taxa"], p.data["ranks"]
    rows = p.all("#heat tbody th")
    phyla = {taxa["name"][i] for i in range(len(taxa["name"])) if ranks[taxa["rank"][i]] == "phylum"}
    t.ok(rows and set(rows) <= phyla, "the rank can be chosen", rows)
    cell = p.all("#heat tbody td")[0]
    first = taxa["name"].index(rows[0])
    want = 100 * clades(p.data, 0)[first] / (clades(p.data, 0)[0] + samples[0]["unclassified"])
    t.ok(abs(float(cell) - want) < 0.06, "its cells are shares", cell, want)
    p.click("#heat thead button", 1)
    t.ok("sample=2" in p.hash(), "a click on its head shows the sample", p.hash())


def test_many(t, p):
    """A row a sample; of a taxon the samples with the most; the unclassified in the bars."""
    taxa, samples = p.data["taxa"], p.data["samples"]
    sums = [clades(p.data, k) for k in range(len(samples))]
    total = [c[0] + s["unclassified"] for c, s in zip(sums, samples)]
    heads = p.texts("#samples th")
    host = taxa["taxid"].index(9606)
    t.ok(heads == ["Sample", "Reads", "Classified", "Species", "Largest species",
                   "Host (%s)" % taxa["name"][host]], "a table of samples", heads)
    rows = p.cells("#samples tbody tr")
    t.ok([r[0] for r in rows] == [s["name"] for s in samples], "a row a sample", [r[0] for r in rows])
    t.ok([number(r[1]) for r in rows] == total, "its reads", [r[1] for r in rows])
    shares = [100 * c[0] / n for c, n in zip(sums, total)]
    t.ok(all(abs(float(r[2].split()[0]) - x) < 0.06 for r, x in zip(rows, shares)), "what is classified",
         [r[2] for r in rows], shares)
    ranks = [p.data["ranks"][r] for r in taxa["rank"]]
    species = [i for i, r in enumerate(ranks) if r == "species"]
    t.ok([number(r[3]) for r in rows[1:]] == [sum(c[i] > 0 for i in species) for c in sums[1:]],
         "its species", [r[3] for r in rows])
    t.ok(number(rows[0][3]) == sum(d in ("yes", "low") for d in values(p.data, 0, "detected").values()),
         "those detected, where that is known", rows[0])
    t.ok(all(r[4].startswith(taxa["name"][max(species, key=lambda i: c[i])] + ", ")
             for r, c in zip(rows[1:], sums[1:])), "the largest of them", [r[4] for r in rows])
    taxon = max(species, key=lambda i: sum(c[i] / n for c, n in zip(sums, total)))
    p.go(taxa["taxid"][taxon])
    most = sorted(range(len(samples)), key=lambda k: (-sums[k][taxon] / total[k], k))[:10]
    shown = p.texts("#details .top span")[-10:]
    t.ok(shown == [samples[k]["name"] for k in most] and most != list(range(10)),
         "of a taxon the samples with the most of it", shown, most)
    drawn = p.all("#bars .stack", "e.lastChild.title")
    t.ok(len(drawn) == len(samples) and all(x.startswith("unclassified: ") for x in drawn),
         "the unclassified are drawn", drawn)
    p.back()


def at_width(driver, width, media=""):
    """So many pixels; 0: as it was"""
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
    driver.execute_cdp_cmd(*("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}) if width else
        ("Emulation.clearDeviceMetricsOverride", {}))


def at_widths(driver, path):
    """A page at three widths, then as it was"""
    for width in (1400, 800, 400):
        at_width(driver, width)
        yield width, Page(driver, path)
    at_width(driver, 0)


def test_phone(t, driver, path):
    """At 400 pixels: taxon, share and whether it is there, without moving the table."""
    at_width(driver, 400)
    p = Page(driver, path)
    boxes = p.all("#table tbody tr:first-child td", "[e.className, e.getBoundingClientRect().right, e.textContent]")
    seen = [kind.split()[0] for kind, right, _ in boxes if right <= 400]
    t.ok(seen[:3] == ["name", "share", "detected"] and boxes[2][2], "400 pixels: three columns in sight", boxes)
    top = p.js("return ['taxa', 'icicle'].map(i => document.getElementById(i).getBoundingClientRect().top)")
    t.ok(top[0] < top[1] and top[0] < 400, "400 pixels: the table comes first", top)
    t.ok(p.js("return document.documentElement.scrollWidth") <= 400, "400 pixels: nothing is wider")
    levels = p.all("#levels span")
    t.ok("species" in levels, "400 pixels: the chart comes to species", levels)
    at_width(driver, 0)


def long_words(data):
    """A species with a long name and reason, of a genus of which nothing is there; ties at the top."""
    taxa, sample = data["taxa"], data["samples"][0]
    keys = [c["key"] for c in data["columns"]]
    species = [i for i, r in enumerate(taxa["rank"]) if data["ranks"][r] == "species"]

    def judge(i, detected, why):
        row = sample["values"].setdefault(str(i), [None] * len(keys))
        row[keys.index("detected")], row[keys.index("why")] = detected, why
    for i in species:
        judge(i, "yes", "well")
    gone = lonely(data)
    taxa["name"][gone] = "Longella " + "verylonga " * 12
    for i in (gone, taxa["parent"][gone]):
        judge(i, "no", WHY)
    for i in species:
        sample["direct"][i:end_of(taxa, i)] = [0] * (end_of(taxa, i) - i)
        sample["direct"][i] = 70
    sample["direct"][gone] = 90
    sample["unclassified"] = sum(sample["direct"])


def lonely(data):
    """The first species that is the only one of its genus."""
    taxa = data["taxa"]
    ranks = [data["ranks"][r] for r in taxa["rank"]]
    for i in range(len(ranks)):
        held = [k for k in range(i, end_of(taxa, i)) if ranks[k] == "species"]
        if ranks[i] == "genus" and len(held) == 1 and taxa["parent"][held[0]] == i:
            return held[0]
    raise ValueError("no genus of one species")


WHY = "reads of a relative that is not in the database: they are like those of Longella and Brevella, " \
    "which are not there"


def end_of(taxa, i):
    """One past the last taxon of a clade."""
    end = i + 1
    while end < len(taxa["parent"]) and taxa["parent"][end] >= i:
        end += 1
    return end


def pixel(p, x, y):
    """The colour of the chart at shares of its width and height."""
    return p.js("const c = document.getElementById('icicle'), one = document.createElement('canvas'),"
                "pen = one.getContext('2d'); one.width = one.height = 1;"
                "pen.drawImage(c, -Math.floor(arguments[0] * c.width), -Math.floor(arguments[1] * c.height));"
                "return Array.from(pen.getImageData(0, 0, 1, 1).data).slice(0, 3)", x, y)


def is_grey(colour):
    return max(colour) - min(colour) < 24


def test_widths(t, driver, path):
    """What decides is in sight at any width: a long name, and its reason to the last word."""
    for width, p in at_widths(driver, changed(path, long_words)):
        seen = p.js("return Array.from(document.querySelectorAll('#table tbody tr:first-child :is(.why, .reason)'))"
                    ".filter(e => e.checkVisibility()).map(e => [e.textContent, e.getBoundingClientRect().right,"
                    "e.scrollWidth - e.clientWidth])")
        t.ok(len(seen) == 1 and seen[0][0] == WHY and seen[0][1] <= width and seen[0][2] <= 0,
             "%d pixels: the reason is whole and in sight" % width, seen)
        if width == 400:
            continue
        wide = p.js("const e = document.querySelector('#taxa .scroll'); return e.scrollWidth - e.clientWidth")
        t.ok(wide <= 0, "%d pixels: a long name pushes no column out of sight" % width, wide)


def test_refuted(t, driver, path):
    """In grey what is judged not to be there, and what has no call; ties are told."""
    p = Page(driver, changed(path, long_words))
    taxa, sums = p.data["taxa"], clades(p.data, 0)
    species = [i for i, r in enumerate(taxa["rank"]) if p.data["ranks"][r] == "species"]
    n = sum(sums[i] == 70 for i in species)
    tile = p.texts("#tiles .tile")[-1].split("\n")
    t.ok(n > 1 and tile[1] == "%d species" % n and tile[0].endswith(" each"), "species with as many reads are counted",
         tile, n)
    gone = lonely(p.data)
    classes = p.all("#table tbody tr", "e.className")
    t.ok(classes[0] == "is-no" and set(classes[1:]) == {"is-yes"}, "a row of what is not there is grey", classes)
    low = pixel(p, 0.5, 0.9)
    t.ok(is_grey(low) and pixel(p, 0.02, 0.6) == low, "the unclassified are drawn in the chart", low)
    p.js("arguments[0].dispatchEvent(new MouseEvent('mousemove', { clientX: arguments[0].getBoundingClientRect().left + 50,"
         "clientY: arguments[0].getBoundingClientRect().bottom - 20 }))", p.id("icicle"))
    t.ok(p.texts("#tip") == ["unclassified\n%d pairs · 50.0 %% of all" % sums[0]], "and told", p.texts("#tip"))
    for i, name, wanted in ((gone, "species that is not there", True), (taxa["parent"][gone], "genus of it", True),
                            (next(i for i in species if i != gone), "species that is there", False)):
        p.go(taxa["taxid"][i])
        colour = pixel(p, 0.02, 0.1)
        t.ok(is_grey(colour) == wanted, "%s: %s" % (name, "grey" if wanted else "in colour"), colour)
    quiet(t, p, "refuted")


def as_in_blank(data):
    """The first sample's species beside controls: all but one are as in the blank."""
    long_words(data)
    data["columns"].append({"key": "blank", "label": "Blank", "kind": "text", "digits": 0})
    for i, row in data["samples"][0]["values"].items():
        row.append("more than in the blank" if int(i) == lonely(data) else "as in the blank")
        row[[c["key"] for c in data["columns"]].index("detected")] = "yes"


def test_blanks(t, driver, path):
    """What is as in the blank is grey, and says so at any width; there is a command for each taxon."""
    for width, p in at_widths(driver, changed(path, as_in_blank)):
        rows = p.all("#table tbody tr", "[e.className, Array.from(e.querySelectorAll('.blank, .reason')).filter(x =>"
                     "x.checkVisibility() && x.getBoundingClientRect().right <= innerWidth).map(x => x.textContent).join()]")
        t.ok(len(rows) > 1 and [r[0] for r in rows] == ["is-yes"] + ["is-blank"] * (len(rows) - 1) and
             rows[0][1].startswith("more than in the blank") and all(r[1].startswith("as in the blank") for r in rows[1:]),
             "%d pixels: verdicts beside the blanks are in sight" % width, rows)
    taxid = p.data["taxa"]["taxid"][lonely(p.data)]
    p.go(taxid)
    said = p.texts("#details code")
    t.ok(len(said) == 1 and " --extract %d --sam %d.sam " % (taxid, taxid) in said[0], "a command takes its reads out", said)
    quiet(t, p, "blanks")


def test_known(t, driver, path, large):
    """"Not found" and "not in the database" are told apart."""
    p = Page(driver, path)
    box = p.id("search")

    def search(words):
        box.clear()
        p.press(box, words)
        return dict(zip(p.texts("#found .name"), p.texts("#found .more"))), p.texts("#found .none")
    found, none = search("lambda")
    t.ok(found.get("Escherichia virus Lambda") == "species · in the database, no pairs" and not none,
         "what is in the database but has no reads is found", found, none)
    p.press(box, Keys.ARROW_DOWN, Keys.ARROW_UP)
    k = p.texts("#found .name").index("Escherichia virus Lambda")
    p.press(box, *[Keys.ARROW_DOWN] * k, Keys.ENTER)
    said = p.texts("#details h3, #details dd.known, #details .note")
    t.ok(said == ["Escherichia virus Lambda", "1 genome of 48.5 kbp, whole by its length",
                  "It is in the database, and no pairs were called it."], "and shown, with its genomes", said)
    found, none = search("klebsiella")
    t.ok(not found and none == ["Not in the database"], "what is not in it is told", found, none)
    found, none = search("sars-cov-2")
    t.ok("Severe acute respiratory syndrome coronavirus 2 (SARS-CoV-2)" in found, "another name finds a taxon with reads",
         found)
    found, none = search("tailed ph")
    t.ok(found == {"Caudovirales (Tailed phages)": "order · in the database, no pairs"}, "and one without", found)
    found, none = search("694009")
    t.ok(list(found) == ["Severe acute respiratory syndrome-related coronavirus"] and not none, "what has reads", found)
    p.press(box, Keys.ENTER)
    said = p.texts("#details dd.known")
    t.ok(said == ["1 genome of 29.9 kbp, whole by its length"], "has its genomes, too", said)
    quiet(t, p, "a virus")
    p = Page(driver, large)
    box = p.id("search")
    found, none = search("s50999")
    t.ok(not found and none and none[0].startswith("None of the 6,184 genera and higher taxa that this page lists of the "
                                                   "57,184 taxa"), "a page that does not list all says so", none)
    found, none = search("g5666")
    t.ok(list(found) == ["G5666"], "and lists genera", found)


def text_of(pdf):
    return subprocess.run(["pdftotext", "-layout", "-", "-"], input=pdf, stdout=subprocess.PIPE, check=True).stdout.decode()


def test_sheets(t, driver, path):
    """On paper no heading stands on another sheet than what it is of, wherever the sheet ends."""
    if not shutil.which("pdftotext"):
        return
    p, split = Page(driver, path), []
    for height in range(0, 1000, 125):
        p.js("document.getElementById('tree-title').closest('section').style.marginTop = arguments[0] + 'px'", height)
        for sheet in text_of(p.pdf()).split("\f"):
            for head, of in (("Taxonomy", "Viruses"), ("Largest species", " %")):
                if head in sheet and of not in sheet.split(head)[1]:
                    split.append((height, head))
    t.ok(not split, "headings and their figures are on one sheet", split)


def test_print(t, p, sheets):
    """On A4: every column that matters, all rows, and the page as it was afterwards."""
    before = p.column(0)
    pdf = p.pdf()
    n = len(re.findall(rb"/Type\s*/Page\b", pdf))
    t.ok(1 <= n <= sheets, "%d sheets of paper at most" % sheets, n)
    size = re.search(rb"/MediaBox\s*\[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    t.ok(size and [round(float(x)) for x in size.groups()] == [595, 842], "of A4", size and size.groups())
    p.settle()
    t.ok(p.column(0) == before, "the rows are as they were", len(before), len(p.column(0)))
    p.width(703, "print")               # A4 less its margins
    p.js("window.dispatchEvent(new Event('beforeprint'))")
    p.settle()
    cells = [(words.split()[0], right) for words, right, wide in p.all(
        "#table tbody tr:first-child td", "[e.className, e.getBoundingClientRect().right, e.offsetWidth]") if wide]
    keys = [kind for kind, _ in cells]
    wanted = ["name", "share"] + [c["key"] for c in p.data["columns"] if not c.get("detail")] + ["clade"]
    wide = p.all("#table, #samples, #heat", "e.getBoundingClientRect().right")
    t.ok(max(wide) <= 703, "no table is cut", wide)
    t.ok(keys == wanted and max(x for _, x in cells) <= 703, "the columns that matter are on paper", cells)
    count = number(p.texts("#count")[0].split()[0])
    t.ok(len(p.column(0)) == count, "and all rows", len(p.column(0)), count)
    gone = "getElementById('absent-rows')"
    t.ok(p.js("return document.%s.checkVisibility() || document.%s.rows.length == 1" % (gone, gone)),
         "and what is not there, unfolded")
    p.js("window.dispatchEvent(new Event('afterprint'))")
    t.ok(not p.js("return document.%s.checkVisibility()" % gone), "which then is folded again")
    p.width(0)
    if shutil.which("pdftotext"):
        text = text_of(pdf)
        words = [w for x in before for w in x.split() if re.fullmatch("[A-Za-z]+", w)]
        missing = [w for w in words + ["Detected", "yes"] if w not in text]
        t.ok(words and not missing, "the paper has their words", missing, text[:400])


def contrast(p):
    """The least contrast of the texts that one reads, against what is behind them."""
    return p.js("""
        const light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => {
            v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const ground = (e) => { for (; e; e = e.parentElement) {
            const c = getComputedStyle(e).backgroundColor;
            if (!/, 0\\)$/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
        let least = [99, ''];
        for (const e of document.querySelectorAll('h1,h2,h3,p,dt,dd,label,#table button,#table td,' +
                '#tiles span,#tiles b,footer,#count,#heat td,.stack i')) {
            if (!e.textContent.trim() || e.closest('[hidden]') || e.matches('.unseen')) continue;
            const a = light(getComputedStyle(e).color), b = light(ground(e));
            const c = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (c < least[0]) least = [c, e.tagName + ' ' + e.className + ' ' + e.textContent];
        }
        return least;""")


def test_themes(t, p):
    for theme in ("light", "dark"):
        while p.texts("#theme-name") != [theme]:
            p.click("#theme")
        found = contrast(p)
        t.ok(found[0] >= 4.5, "%s: contrast of texts is at least 4.5" % theme, found)
        ground = p.js("return getComputedStyle(document.body).backgroundColor")
        dark = sum(int(v) for v in ground[4:-1].split(",")) < 300
        t.ok(dark == (theme == "dark"), "%s: so is the ground" % theme, ground)


def test_names(t, p):
    """What a screen reader reads: everything that can be used has a name."""
    nameless = p.js("""
        return Array.from(document.querySelectorAll('button, input, select, canvas, table, nav, aside'))
            .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() ||
                (e.labels && e.labels.length) || e.getAttribute('aria-labelledby')))
            .map(e => e.outerHTML.slice(0, 100))""")
    t.ok(not nameless, "what can be used has a name", *nameless)


def test_downloads(t, p):
    """The text of a file is taken from where the page makes it."""
    p.js("window.saved = []; const make = URL.createObjectURL;"
         "URL.createObjectURL = (b) => { b.text().then(x => window.saved.push(x)); return make(b); };"
         "HTMLAnchorElement.prototype.click = () => {};")
    p.click("#save")
    text = (p.js("return window.saved") or [""])[0]
    rows = [line.split("\t") for line in text.splitlines()]
    count = number(p.texts("#count")[0].split()[0])
    t.ok(rows[0][:6] == ["name", "share", "detected", "ani", "why", "first"], "a table is saved", rows[:1])
    t.ok(len(rows) == count + 1 and len({len(r) for r in rows}) == 1, "all of its rows", len(rows), count)


RANKS = "no rank,superkingdom,phylum,class,order,family,genus,species,strain".split(",")
TAILS = ",ia,ota,ia,ales,aceae,ella, communis, strain".split(",")
PARTS = "ba co di fu la me no ri sta the ve xy sal bor lin gor".split()
HOSTILE = ["<script>document.title = 'broken'</script>", "</script><img src=x onerror=\"document.title='broken'\">",
           "\"quoted\" & 'quoted' \\ {{x}} ${x} %s", "\u05d7\u05d9\u05d9\u05d3\u05e7 \u202eabc", "not UTF-8: \\xff\\xfe",
           "Long %0290d" % 7]


def made_up(data, n, samples):
    """n taxa, by ranks from domain to strain, with names that try to be more than text; a profile's columns in the
    first sample."""
    rng, parent, rank = random.Random(22), [], []

    def grow(above, level, want):
        me, left = len(parent), want - 1
        parent.append(above)
        rank.append(level)
        while left > 0 and level + 1 < len(RANKS):
            part = 1 if level + 2 == len(RANKS) else left * 3 // 4 if level == 0 and left > 4 else rng.randint(1, left)
            grow(me, level + 1, part)
            left -= part
    grow(0, 0, n)
    names = ["".join(rng.choices(PARTS, k=3)).capitalize() + TAILS[level] + " %d" % i for i, level in enumerate(rank)]
    names[0], names[-len(HOSTILE):] = "root", HOSTILE
    data.pop("known", None)
    data.update(unit="reads", ranks=RANKS, taxa={"taxid": [1] + [7 * i + 2 for i in range(1, n)], "parent": parent,
                                                 "rank": rank, "name": names},
                facts=[{"label": "Command", "value": "made <b>up</b>", "code": True}], columns=[
                    {"key": "detected", "label": "Detected", "kind": "text", "digits": 0},
                    {"key": "ani", "label": "ANI", "help": "average identity", "kind": "percent", "digits": 2},
                    {"key": "why", "label": "Why", "kind": "text", "digits": 0, "detail": True},
                    {"key": "first", "label": "First", "kind": "number", "digits": 0, "detail": True}])
    data["samples"] = [{"name": "<b>sample</b> 2" if k == 1 else "sample %d" % (k + 1), "unclassified": 1000 * (k + 1),
                        "direct": [int(10 ** (5 * rng.random() ** 2)) if i not in parent or rng.random() < 1 / 8 else 0
                                   for i in range(n)], "values": {}} for k in range(samples)]
    for i in (i for i, level in enumerate(rank) if RANKS[level] == "species"):
        word = rng.choice(("yes", "low", "no", None))
        data["samples"][0]["values"][str(i)] = [word, round(rng.uniform(.9, 1), 4), word or "too few", rng.randrange(1000)]


def changed(path, change, copy=None):
    """A copy of a page, beside it, whose data are other ones."""
    text = open(path, encoding="utf-8").read()
    head, rest = text.split('id="data">', 1)
    old, tail = rest.split("</script>", 1)
    data = json.loads(old)
    change(data)
    copy = copy or path + ".changed.html"
    with open(copy, "w", encoding="utf-8") as out:
        out.write(head + 'id="data">' + json.dumps(data).replace("<", "\\u003c") + "</script>" + tail)
    return copy


def test_schema(t, driver, path):
    """What may be missing may be missing, and coverage is drawn where it is given."""
    def spare(data):
        for key in ("title", "columns", "facts", "identities"):
            data.pop(key, None)
        for sample in data["samples"]:
            sample.pop("values")
            sample.pop("coverage", None)

    def cover(data):
        data["title"] = "A title"
        data["identities"] = [0, 0.8, 0.9, 0.95, 0.97, 1]
        data["samples"][0]["coverage"] = {str(data["taxa"]["taxid"][1]): {
            "reads": 15, "references": [
                {"id": "<i>one", "bases": 2112345, "reads": 6, "bins": [0, 3, 1, 2]}],
            "identity": [0, 0, 5, 9, 1]}}

    p = Page(driver, changed(path, spare))
    t.ok(len(p.texts("#table th")) == 6 and p.shown() == "root", "a page of the least data",
         p.texts("#table th"))
    quiet(t, p, "the least data")
    p = Page(driver, changed(path, cover))
    t.ok(p.texts("#title") == ["A title"], "a title of its own", p.texts("#title"))
    t.ok(not p.d.find_elements(By.CSS_SELECTOR, ".plot"), "no coverage of what has none")
    p.go(p.data["taxa"]["taxid"][1])
    bars = p.all(".plot", "Array.from(e.children).map(r => Math.round(r.getAttribute('height')))")
    t.ok(bars == [[0, 96, 32, 64], [0, 0, 53, 96, 11]], "coverage and identity as bars", bars)
    words = p.texts("#details figcaption, #details .axis span")
    t.ok(words == ["<i>one\n6 reads", "0", "2.11 Mbp", "Identity, from shared features", "< 80.0 %", "90.0 %",
                   "100.0 %"], "what the bars are of", words)
    titles = p.all(".plot title")
    t.ok(titles[1] == "528 kbp to 1.06 Mbp: 3 reads" and titles[6] == "90.0 % to 95.0 %: 5 reads",
         "each bar has its number", titles)
    quiet(t, p, "coverage")


def test_coverage(t, p):
    """Of a run: the species with the most reads that have a place."""
    taxid, cover = max(p.data["samples"][0]["coverage"].items(), key=lambda c: c[1]["reads"])
    p.go(int(taxid))
    bars = p.all(".plot", "e.children.length")
    t.ok(bars == [len(r["bins"]) for r in cover["references"]] + [32], "bars of a run", bars)
    shown = p.texts("#details figcaption span")
    t.ok(shown == [r["id"] for r in cover["references"]], "the references of a run", shown)
    found = contrast(p)
    t.ok(found[0] >= 4.5, "coverage: contrast of texts is at least 4.5", found)


def nothing_next(data):
    k = [c["key"] for c in data["columns"]].index("next")
    for sample in data["samples"]:
        for row in sample["values"].values():
            row[k] = None


def test_unused(t, driver, path):
    """A column in which nothing is said, as profiles do not have it, is left out."""
    said = []
    for page in (path, changed(path, nothing_next)):
        p = Page(driver, page)
        p.click("#table td.name button")
        said.append(p.texts("#details dt"))
    t.ok([x for x in said[0] if x != "Second-best species"] == said[1] != said[0], "a column without a word is left out", *said)


def tests(real, virus, large):
    t = Tap()
    one, several, many = (changed(real, lambda data: made_up(data, n, samples), "made.%d.html" % samples)
                          for n, samples in ((400, 1), (1000, 6), (1400, 30)))
    driver = browser()
    try:
        p = Page(driver, one)
        for test in (test_counts, test_zoom, test_search, test_sort, test_columns, test_absent, test_downloads,
                     test_hostile, test_names):
            test(t, p)
        quiet(t, p, "one sample")
        test_schema(t, driver, one)
        p = Page(driver, several)
        test_samples(t, p)
        test_names(t, p)
        test_themes(t, p)
        quiet(t, p, "several samples")
        p = Page(driver, many)
        test_many(t, p)
        test_print(t, p, 12)
        quiet(t, p, "many samples")
        for test in (test_phone, test_widths, test_refuted, test_blanks, test_unused, test_sheets):
            test(t, driver, real)
        test_known(t, driver, virus, large)
        p = Page(driver, real)
        test_print(t, p, 3)
        test_coverage(t, p)
        test_themes(t, p)
        t.ok(any("kmerhash classify" in x for x in p.texts("#facts dd")), "the run's command is told")
        quiet(t, p, "a run's page")
    finally:
        driver.quit()
    print("1..%d" % t.n)


if __name__ == "__main__":
    tests(*sys.argv[1:])
