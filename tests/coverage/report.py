# SPDX-License-Identifier: BSD-3-Clause
"""What the unit tests run of lib/: report.py DIR BUILD..., with the JSON that gcovr made of each build in DIR/BUILD.json.

Writes DIR/table (files, worst first, and each line that was not run or has a branch that was not taken) and
DIR/merged.json (for gcovr); prints one line per check. What is not covered must stand in tests/coverage/uncovered with a
reason, and what stands there must not be covered.
"""
import json
import os
import sys

LIMITS = (('lines', 98.0), ('branches', 92.0))
LIST = os.path.join('tests', 'coverage', 'uncovered')
SOMETIMES = 'sometimes: ' # a reason that begins so: two threads must meet, which they may or may not


class Line:
    """A line of the sources over all builds; of one that another build compiles to other branches, the first counts."""

    def __init__(self):
        self.count = 0
        self.branches = []

    def add(self, line):
        self.count += line['count']
        counts = [branch['count'] for branch in line['branches']]
        if not self.branches:
            self.branches = counts
        elif len(counts) == len(self.branches):
            self.branches = [a + b for a, b in zip(self.branches, counts)]

    def taken(self):
        return sum(1 for count in self.branches if count > 0)

    def covered(self):
        return self.count > 0 and self.taken() == len(self.branches)


class Source:
    """A file: its lines by number, its text, and the function that each line belongs to."""

    def __init__(self, name):
        self.name = name
        self.lines = {}
        self.starts = {}
        with open(name, encoding='utf-8') as text:
            self.text = [line.strip() for line in text]

    def add(self, file):
        for line in file['lines']:
            if not line.get('gcovr/noncode'):
                self.lines.setdefault(line['line_number'], Line()).add(line)
        for function in file['functions']:
            self.starts[function['lineno']] = function['name']

    def function(self, number):
        starts = [start for start in self.starts if start <= number]
        return self.starts[max(starts)] if starts else ''

    def gaps(self):
        return [number for number in sorted(self.lines) if not self.lines[number].covered()]

    def sums(self):
        """Lines run, lines, branches taken, branches."""
        lines = self.lines.values()
        return (sum(1 for line in lines if line.count > 0), len(lines),
                sum(line.taken() for line in lines), sum(len(line.branches) for line in lines))


def read_sources(directory, builds):
    sources = {}
    for build in builds:
        with open(os.path.join(directory, build + '.json'), encoding='utf-8') as file:
            files = json.load(file)['files']
        for file in files:
            name = file['file']
            sources.setdefault(name, None)
            sources[name] = sources[name] or Source(name)
            sources[name].add(file)
    return [sources[name] for name in sorted(sources)]


def read_list():
    """[(file, function, text, reason)]: entries "file: function: text", behind some of them their indented reason."""
    entries, waiting, reason = [], [], ''
    with open(LIST, encoding='utf-8') as text:
        lines = [line.rstrip() for line in text if not line.startswith('#')] + ['']
    for line in lines:
        if line.startswith('\t'):
            reason += ' ' + line.strip()
            continue
        if reason:
            entries += [entry + (reason.strip(),) for entry in waiting]
            waiting, reason = [], ''
        if line:
            waiting.append(tuple(line.split(': ', 2)))
    if waiting:
        sys.exit('%s: no reason is given for %s' % (LIST, waiting))
    return entries


def percent(part, whole):
    return 100.0 * part / whole if whole else 100.0


def total(sources):
    return [sum(column) for column in zip(*(source.sums() for source in sources))]


def check_limits(sources):
    run, lines, taken, branches = total(sources)
    for (what, limit), part, whole in zip(LIMITS, (run, taken), (lines, branches)):
        good = percent(part, whole) >= limit
        yield good, '%s: %d of %d, %.1f %%, at least %g %%' % (what, part, whole, percent(part, whole), limit)


def check_list(sources):
    """Every gap is named, every name is a gap."""
    used = set()
    entries = read_list()
    for source in sources:
        for number in source.gaps():
            matching = {i for i, (file, function, text, _) in enumerate(entries)
                        if file == source.name and function == source.function(number)
                        and text in source.text[number - 1]}
            used |= matching
            if not matching:
                yield False, '%s:%d: %s: not covered, and not in %s: %s' % (
                    source.name, number, source.function(number), LIST, source.text[number - 1])
    for i, (file, function, text, reason) in enumerate(entries):
        if i in used:
            continue
        if not reason.startswith(SOMETIMES) or not stands(sources, file, function, text):
            yield False, '%s: nothing is uncovered at "%s: %s: %s"' % (LIST, file, function, text)
    yield True, '%s: %d entries read' % (LIST, len(entries))


def stands(sources, file, function, text):
    return any(source.name == file and source.function(number) == function and text in source.text[number - 1]
               for source in sources for number in source.lines)


def write_table(directory, sources):
    def worst(source):
        run, lines, taken, branches = source.sums()
        return (percent(run + taken, lines + branches), source.name)

    with open(os.path.join(directory, 'table'), 'w', encoding='utf-8') as out:
        print('%-34s %21s %21s' % ('file', 'lines', 'branches'), file=out)
        for source in sorted(sources, key=worst):
            run, lines, taken, branches = source.sums()
            print('%-34s %5d of %5d %5.1f %% %5d of %5d %5.1f %%' % (
                source.name, run, lines, percent(run, lines), taken, branches, percent(taken, branches)), file=out)
        print(file=out)
        for source in sources:
            for number in source.gaps():
                line = source.lines[number]
                what = '%d of %d' % (line.taken(), len(line.branches)) if line.count else 'not run'
                print('%s:%d: %s: %s: %s' % (source.name, number, source.function(number), what,
                                             source.text[number - 1]), file=out)


def write_merged(directory, sources):
    def branch(number, count):
        return {'branchno': number, 'count': count, 'fallthrough': False, 'throw': False}

    files = [{'file': source.name, 'functions': [], 'lines': [
        {'line_number': number, 'count': line.count, 'gcovr/noncode': False, 'gcovr/excluded': False,
         'branches': [branch(i, count) for i, count in enumerate(line.branches)]}
        for number, line in sorted(source.lines.items())]} for source in sources]
    with open(os.path.join(directory, 'merged.json'), 'w', encoding='utf-8') as out:
        json.dump({'gcovr/format_version': '0.3', 'files': files}, out)


def main():
    directory, builds = sys.argv[1], sys.argv[2:]
    sources = read_sources(directory, builds)
    write_table(directory, sources)
    write_merged(directory, sources)
    failed = False
    for good, what in list(check_limits(sources)) + list(check_list(sources)):
        print('%s - %s' % ('ok' if good else 'not ok', what))
        failed = failed or not good
    print('Files, worst first: %s/table; line by line: %s/html/index.html' % (directory, directory))
    return 1 if failed else 0


sys.exit(main())
