#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes bench/out/report.md, report.json and plots from the JSON of the benchmarks; bench/run.sh calls it."""
import argparse
import json
import os
import re
import sys

import plots

TITLES = {
    'seeds': 'The four ideas of the beginning',
    'rxq': 'The whole path',
    'gro': 'GRO alone, and the floors',
    'merge': 'Merging buffers',
    'virtq': 'Virtqueues',
    'txq': 'Transmit',
    'flush': 'The flush timer on other links, in simulated time',
    'scale': 'Scaling',
    'dpdk': 'Beside DPDK: GRO',
    'virtio': 'Beside DPDK: virtio front end',
}

MOVE = 0.1

# A line that compares a figure with its limit, in either of the forms that the benchmarks have.
LIMIT = re.compile(r'^check: |at (least|most) +[0-9.]+ +(ok|MISS)')

# What the authors of the ideas published, beside what is measured here.
PUBLISHED = [
    ('auto-sized over MTU buffers, rate (2013)', 'auto over mtu', '1.105 (14555.94 / 13170.01 Mb/s)'),
    ('auto-sized over largest buffers, rate (2013)', 'auto over largest', '0.994 (14555.94 / 14642.85 Mb/s)'),
    ('coalescing over without, rate, no walk (2013)', 'coalesce none', '1.174, with the stack above'),
    ('coalescing over without, rate, written to a TAP device', 'coalesce TAP', '1.174, with the stack above'),
    ('fragments of a 64 KiB packet with coalescing (2013)', 'fragments', '2 or 3'),
    ('1 KiB packets, all streams, after over before, simulated (2011)', 'small 1', '1.162'),
    ('16 KiB packets, the same, simulated (2011)', 'small 16', '1.046'),
    ('segments per packet without a timer, simulated (2014)', 'segs 0', '2.65'),
    ('segments per packet, timer 2000 ns, simulated (2014)', 'segs 2000', '42'),
    ('delivered packets without a timer over with 2000 ns, simulated (2014)', 'acks', '15.9 (305732 / 19230 ACK/s)'),
]


def load(out):
    """{name: parsed JSON} of every benchmark that ran, and {name: lines of its log}."""
    results, logs = {}, {}
    for name in TITLES:
        path = os.path.join(out, name + '.json')
        if not os.path.exists(path):
            continue
        try:
            with open(path, encoding='utf-8') as file:
                results[name] = json.load(file)
        except ValueError:
            results[name] = {'rows': [], 'broken': True}
        with open(os.path.join(out, name + '.log'), encoding='utf-8') as file:
            logs[name] = [line.rstrip('\n') for line in file]
    return results, logs


def tables(rows):
    """Consecutive rows of the same columns."""
    found = []
    for row in rows:
        if not found or list(found[-1][0]) != list(row):
            found.append([])
        found[-1].append(row)
    return found


def cell(value):
    return '-' if value is None else str(value)


def markdown_table(rows):
    keys = list(rows[0])
    lines = ['| ' + ' | '.join(keys) + ' |']
    lines.append('|---' * 1 + '|' + '---:|' * (len(keys) - 1))
    lines += ['| ' + ' | '.join(cell(row[key]) for key in keys) + ' |' for row in rows]
    return '\n'.join(lines) + '\n'


def find(rows, **wanted):
    """The first row with these cells."""
    for row in rows:
        if all(row.get(key) == value for key, value in wanted.items()):
            return row
    return None


def ratios(results):
    """The figures that stand beside published ones, by short name."""
    rows = results.get('seeds', {}).get('rows', [])
    found = {}

    def ratio(name, row, key, other, other_key):
        if row and other and other[other_key]:
            found[name] = row[key] / other[other_key]

    large = [row for row in rows if row.get('sizer') == '64K']
    auto = find(large, buffers='auto (EWMA)')
    ratio('auto over mtu', find(large, buffers='MTU 1536'), 'ns/packet', auto, 'ns/packet')
    ratio('auto over largest', find(large, buffers='largest 4096'), 'ns/packet', auto, 'ns/packet')
    for walk in ('none', 'TAP'):
        row = find(rows, **{"coalescer, the host's walk": walk})
        if row:
            found['coalesce ' + walk] = 1 + row['rate + %'] / 100
            found['fragments'] = row['frags with']
    for size in (1, 16):
        small = [row for row in rows if str(row.get('simulated', '')).startswith('%d KiB x' % size)]
        before = sum(row['before kpps'] for row in small)
        if before:
            found['small %d' % size] = sum(row['after kpps'] for row in small) / before
    none, timer = (find(rows, **{'flush timer, simulated, ns': name}) for name in ('timer 0', 'timer 2000'))
    if none and timer:
        found['segs 0'] = none['segs/pkt']
        found['segs 2000'] = timer['segs/pkt']
        ratio('acks', none, 'pkts/s', timer, 'pkts/s')
    return found


def head(results, args):
    first = next(iter(results.values()))
    return '%s, %s cores, %s, %s, %s, `%s`' % (first.get('cpu', '?'), first.get('cores', '?'), first.get('kernel', '?'),
                                               first.get('compiler', '?'), first.get('date', '?'), args.command)


def checks(logs):
    """Lines of limits, and those that were missed."""
    lines = [re.sub('^check: | {2,}', ' ', line).strip() for log in logs.values() for line in log if LIMIT.search(line)]
    return lines, [line for line in lines if re.search(r'\bMISS', line)]


def summary(results, logs, args):
    found = ratios(results)
    lines, missed = checks(logs)
    text = ['# libvnetrx: benchmarks\n', head(results, args) + '\n']
    if args.left_out:
        text.append('Left out: %s.\n' % args.left_out)
    text.append('## Beside the published figures\n')
    text.append(markdown_table([{'what': what, 'here': '%.3f' % found[key], 'published': published}
                                for what, key, published in PUBLISHED if key in found]))
    text.append('%d limits, %d missed%s\n' % (len(lines), len(missed), ':' if missed else '.'))
    text += ['- ' + line for line in missed]
    broken = [name for name in results if results[name].get('broken')]
    if broken:
        text.append('\nNot measured, for their programs failed (see their logs): %s\n' % ', '.join(broken))
    return '\n'.join(text) + '\n'


def report(results, logs, args, pictures):
    text = [summary(results, logs, args)]
    text += ['![%s](%s.svg)\n' % (title, name) for name, title in pictures]
    for name, result in results.items():
        text.append('## %s\n' % TITLES[name])
        text += [markdown_table(rows) for rows in tables(result['rows'])]
        notes = [line for line in logs[name] if line]
        if notes:
            text.append('```\n' + '\n'.join(notes) + '\n```\n')
    beside = os.path.join(args.out, 'kernel.txt')
    if os.path.exists(beside):
        with open(beside, encoding='utf-8') as file:
            text.append('## Beside the kernel: GRO\n\n```\n' + file.read() + '```\n')
    return '\n'.join(text)


def compare(paths):
    """Ratios of two reports beside each other; 1 when one moved by more than a tenth."""
    first, second = (json.load(open(path, encoding='utf-8'))['ratios'] for path in paths)
    moved = 0
    for key in first:
        ok = key in second and abs(second[key] / first[key] - 1) <= MOVE
        moved += not ok
        print('check: %s: %.3f, then %.3f, limit +-%d %%: %s' % (key, first[key], second.get(key, float('nan')),
                                                               MOVE * 100, 'ok' if ok else 'MISSED'))
    return 1 if moved else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', default='bench/out')
    parser.add_argument('--compare', nargs=2, metavar='JSON', help='two reports of one machine: did a ratio move?')
    parser.add_argument('--command', default='')
    parser.add_argument('--left-out', default='')
    args = parser.parse_args()
    if args.compare:
        sys.exit(compare(args.compare))
    results, logs = load(args.out)
    if not results:
        sys.exit('report.py: nothing was measured')
    pictures = plots.draw(results, args.out)
    with open(os.path.join(args.out, 'report.md'), 'w', encoding='utf-8') as file:
        file.write(report(results, logs, args, pictures))
    with open(os.path.join(args.out, 'report.json'), 'w', encoding='utf-8') as file:
        json.dump({'command': args.command, 'ratios': ratios(results), 'checks': checks(logs)[0],
                   'benchmarks': results}, file, indent=1)
    sys.stdout.write(summary(results, logs, args))


if __name__ == '__main__':
    main()
