# SPDX-License-Identifier: BSD-3-Clause
"""Lists what the proofs take for granted, and checks that docs/proof.md names each.

Kinds: `admit` and axioms (none may be there), functions that the table leaves out, functions whose wrap-around is not
counted, what Frama-C reads instead of the compiler's form, and what entry points require of callers that are not
proved.
"""
import pathlib
import re
import sys

ACSL = re.compile(r'/\*@(.*?)\*/\s*', re.DOTALL)
NAME = re.compile(r'(\w+)\s*\(')


def sources():
    for folder in ('include', 'lib'):
        for path in sorted(pathlib.Path(folder).rglob('*.[ch]')):
            yield path, path.read_text(encoding='utf-8')


def table():
    for line in pathlib.Path('tests/proof/modules').read_text(encoding='utf-8').splitlines():
        if line and not line.startswith('#'):
            _, _, checks, functions = line.split(None, 3)
            yield checks, functions


def requirements(text):
    """Entry points of a header and the lines that they require."""
    for contract in ACSL.finditer(text):
        declaration = re.split('[;{]', text[contract.end():], maxsplit=1)[0]
        name = NAME.search(declaration)
        if name and 'static' not in declaration and not declaration.startswith('/*'):
            for line in re.findall(r'requires ([^;]*);', contract.group(1)):
                yield name.group(1), ' '.join(line.split())


def contracted(text):
    """Functions that have a contract, with a body or without."""
    for contract in ACSL.finditer(text):
        declaration = re.split('[;{]', text[contract.end():], maxsplit=1)[0]
        name = NAME.search(declaration)
        if name and re.search(r'\b(assigns|requires|ensures)\b', contract.group(1)) and '/*' not in declaration and \
                not contract.group(1).lstrip().startswith(('loop', 'predicate', '//')):
            yield name.group(1)


def forgotten():
    """Functions with a contract that the table does not have: in a .c file, for that file."""
    lines = [line.split(None, 3) for line in pathlib.Path('tests/proof/modules').read_text(encoding='utf-8').splitlines()
             if line and not line.startswith('#')]
    for path, text in sources():
        for name in contracted(text):
            if not any(name in re.findall(r'\w+', functions) and (path.suffix == '.h' or source == str(path) or
                       name.startswith('vnrx_')) for _, source, _, functions in lines):
                yield path, name


def assumptions():
    for path, text in sources():
        for number, line in enumerate(text.splitlines(), 1):
            for word in re.findall(r'\b(admit|axiom|axiomatic)\b', line):
                if '@' in line or 'axiom' in word:
                    yield 'admitted', '%s:%d' % (path, number), line.strip()
        if path.suffix == '.h':
            for name, line in requirements(text):
                yield 'required', name, line
    for form in re.findall(r'proved_(\w+)\(', pathlib.Path('tests/support/proved.h').read_text(encoding='utf-8')):
        yield 'form', 'vnrx_' + form, ''
    for checks, functions in table():
        for name in re.findall(r'\[([^\]]*)\]', functions):
            for left in name.split():
                yield 'not proved', left, ''
        if checks == 'wraps':
            for name in re.sub(r'\[[^\]]*\]', '', functions).split():
                yield 'may wrap', name, ''


def main():
    told = pathlib.Path('docs/proof.md').read_text(encoding='utf-8')
    missing = 0
    for kind, name, what in assumptions():
        print('%-10s %s%s' % (kind, name, ': ' + what if what else ''))
        for word in {name} | set(re.findall(r'\bvnrx_\w+(?=\()', what)):
            if kind == 'admitted' or '`%s`' % word not in told:
                print('not ok - docs/proof.md does not explain %s' % word)
                missing += 1
    for path, name in forgotten():
        print('not ok - %s: %s has a contract and stands in no line of tests/proof/modules' % (path, name))
        missing += 1
    print('ok - every assumption is explained' if missing == 0 else 'not ok - %d are not' % missing)
    sys.exit(missing != 0)


main()
