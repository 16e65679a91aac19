# SPDX-License-Identifier: BSD-3-Clause
"""Counts test cases: "PASSED FAILED SKIPPED" on stdout, what failed on stderr.

count.py testlog.json   what `meson test` ran; a program that ended wrongly counts as one failure more
count.py - < output     lines "ok ...", "not ok ...", "skip ..." of one program
"""
import json
import re
import sys

CASE = re.compile(r'^(ok|not ok|skip)\b(.*)')
PLAN = re.compile(r'^1\.\.(\d+)$', re.MULTILINE)


def count_lines(text):
    """Returns the numbers of passed, failed and skipped cases, and the lines of the failed ones."""
    passed = skipped = 0
    failed = []
    for line in text.splitlines():
        case = CASE.match(line)
        if not case:
            continue
        if case.group(1) == 'skip' or re.search(r'#\s*skip', case.group(2), re.IGNORECASE):
            skipped += 1
        elif case.group(1) == 'ok':
            passed += 1
        else:
            failed.append(line)
    return passed, failed, skipped


def count_program(test):
    """The same for one entry of testlog.json. A program without cases is itself one.

    It may run several groups, each with its plan "1..N"; a case that was planned and did not run is a failure.
    """
    text = test.get('stdout', '')
    passed, failed, skipped = count_lines(text)
    result = test['result']
    planned = sum(int(n) for n in PLAN.findall(text))
    if planned and planned != passed + len(failed) + skipped:
        failed.append('planned %d cases, ran %d' % (planned, passed + len(failed) + skipped))
    if result == 'SKIP' and not skipped:
        skipped = 1
    elif result == 'OK' and not passed + skipped:
        passed = 1
    elif result not in ('OK', 'SKIP') and not failed:
        failed.append('ended with %s, return code %s' % (result, test.get('returncode')))
    return passed, failed, skipped


def main():
    passed = failed = skipped = 0
    if sys.argv[1] == '-':
        programs = [('', count_lines(sys.stdin.read()))]
    else:
        with open(sys.argv[1], encoding='utf-8') as log:
            tests = [json.loads(line) for line in log]
        programs = [(test['name'] + ': ', count_program(test)) for test in tests]
    for name, (good, bad, left) in programs:
        passed += good
        failed += len(bad)
        skipped += left
        for line in bad:
            print('    ' + name + line, file=sys.stderr)
    print(passed, failed, skipped)


main()
