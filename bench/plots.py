# SPDX-License-Identifier: BSD-3-Clause
"""Plots of the report, by gnuplot: SVG and PNG. Lines differ in dash and mark, so that they can be told apart in grey."""
import os
import re
import subprocess

STYLES = [  # colour, dash, mark
    ('#0b4f8a', 1, 7),
    ('#c1440e', 2, 5),
    ('#2e7d32', 4, 9),
    ('#6a6a6a', 3, 13),
    ('#7b3f9d', 5, 11),
]

SCRIPT = '''set terminal {terminal}
set output "{output}"
set title "{title}"
set xlabel "{xlabel}"
set ylabel "{ylabel}"
set key {key} box width 1
set grid
set border 3
set tics nomirror
set rmargin 6
{axes}
plot {lines}
'''

TERMINALS = {
    'svg': 'svg size 860,480 font "sans,14" background "white"',
    'png': 'pngcairo size 1290,720 font "sans,20"',
}


def line(data, legend, style):
    colour, dash, mark = STYLES[style]
    return '"%s" using 1:2 with linespoints lc rgb "%s" lw 2 dt %d pt %d ps 1.4 title "%s"' % (data, colour, dash, mark,
                                                                                             legend)


def checked(script, number):
    """Axis titles have a unit in brackets, and every line has its entry in the legend."""
    for axis in ('xlabel', 'ylabel'):
        if not re.search(r'^set %s ".+ \(.+\)"$' % axis, script, re.M):
            raise SystemExit('a plot has no unit in its ' + axis)
    if len(re.findall(r' ps 1.4 title "[^"]+"', script)) != number or 'set key' not in script:
        raise SystemExit('a plot has a line without a legend')
    return script


def tidy(path):
    """Without blanks at line ends: the plots that documents show are under version control."""
    with open(path, encoding='utf-8') as file:
        lines = [text.rstrip() + '\n' for text in file]
    with open(path, 'w', encoding='utf-8') as file:
        file.writelines(lines)


def plot(out, name, title, labels, series, axes, key='top left'):
    """series: [(legend, [(x, y), ...])]"""
    lines = []
    for i, (legend, points) in enumerate(series):
        data = os.path.join(out, '%s-%d.dat' % (name, i))
        with open(data, 'w', encoding='utf-8') as file:
            file.writelines('%g %g\n' % point for point in sorted(points))
        lines.append(line(data, legend, i))
    for kind, terminal in TERMINALS.items():
        script = SCRIPT.format(terminal=terminal, output=os.path.join(out, '%s.%s' % (name, kind)), title=title,
                               xlabel=labels[0], ylabel=labels[1], axes=axes, key=key, lines=', '.join(lines))
        path = os.path.join(out, '%s-%s.gnuplot' % (name, kind))
        with open(path, 'w', encoding='utf-8') as file:
            file.write(checked(script, len(series)))
        subprocess.run(['gnuplot', path], check=True)
    tidy(os.path.join(out, name + '.svg'))
    return name, title


def timer_plot(results, out):
    key = 'flush timer, simulated, ns'
    rows = [row for row in results.get('seeds', {}).get('rows', []) if key in row]
    if not rows:
        return []
    fixed = [row for row in rows if row[key].startswith('timer')]
    series = [('fixed timers 0 to 20000 ns', [(row['quiet mean'] / 1000, row['segs/pkt']) for row in fixed])]
    for name, legend in (('adaptive', 'adaptive timer'),
                         ('card: rx-usecs 4, rx-frames 44', 'timer of the card: 4 us, 44 frames')):
        series.append((legend, [(row['quiet mean'] / 1000, row['segs/pkt']) for row in rows if row[key] == name]))
    return [plot(out, 'timer', 'Segments per packet against how long the last one waits (simulated)',
                 ('mean wait of the last segment (us)', 'segments per delivered packet (number)'), series,
                 'set logscale x\nset yrange [0:50]', 'bottom right')]


def flows_plot(results, out):
    pattern = re.compile(r'hot rr (\d+) W4096$')
    series = {}
    for row in results.get('dpdk', {}).get('rows', []):
        match = pattern.match(str(row.get('row', '')))
        if match:
            flows = int(match.group(1))
            series.setdefault('libvnetrx', []).append((flows, row['ns']))
            series.setdefault('floor F3', []).append((flows, row['F3']))
            if row['dpdk ns']:
                series.setdefault('DPDK 22.11', []).append((flows, row['dpdk ns']))
    if not series:
        return []
    return [plot(out, 'flows', 'GRO, flows in turn, 4096 packets between two flushes',
                 ('flows (number)', 'time per packet (ns)'), list(series.items()), 'set logscale xy')]


def draw(results, out):
    return timer_plot(results, out) + flows_plot(results, out)
