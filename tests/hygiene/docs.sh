#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every public function has a comment, the README's program is examples/quickstart.c, what docs/porting.md quotes stands
# in the sources, and links lead somewhere.
. "$(dirname "$0")/lib.sh"

# Lines "FILE LINE NAME" of the prototypes in the headers $@.
prototypes()
{
	ctags -o - -x --language-force=C --kinds-C=p --_xformat='%{input} %{line} %{name}' "$@"
}

# The line above each prototype ends a comment.
all_documented()
{
	prototypes "$@" >"$scratch/prototypes"
	while read -r file line name; do
		case $(sed -n "$((line - 1))p" "$file") in
		*'*/') ;;
		*) echo "$file:$line: $name has no comment" ;;
		esac
	done <"$scratch/prototypes" >"$scratch/bare"
	cat "$scratch/bare"
	[ -s "$scratch/prototypes" ] && [ ! -s "$scratch/bare" ]
}

# The first C program in README $1 that has a main.
readme_program()
{
	awk '/^```c$/ { inside = 1; text = ""; next }
		/^```/ { if (inside && text ~ /int main\(/) { printf "%s", text; exit } inside = 0 }
		inside { text = text $0 "\n" }' "$1"
}

# Both without a licence line at the top.
same_program()
{
	[ -f "$1" ] && [ -f "$2" ] || { echo "$1 or $2 is missing"; return 1; }
	readme_program "$1" | sed '1{/SPDX/d}' >"$scratch/readme.c"
	sed '1{/SPDX/d}' "$2" >"$scratch/quickstart.c"
	[ -s "$scratch/readme.c" ] && diff "$scratch/readme.c" "$scratch/quickstart.c"
}

# Each block of C in $1 follows a line "From [NAME](FILE):", and its lines stand in FILE one behind the other.
quotes_are_source()
{
	awk -v base="$(dirname "$1")" '
		function source(path,    line, text) {
			text = "\n"
			while ((getline line < path) > 0)
				text = text line "\n"
			close(path)
			return text
		}
		/^From \[.*\]\(.*\):$/ { file = $0; sub(/.*\(/, "", file); sub(/\):$/, "", file) }
		/^```c$/ { inside = 1; from = NR; block = "\n"; next }
		/^```$/ && inside {
			inside = 0
			quotes++
			if (file == "" || index(source(base "/" file), block) == 0) {
				print "line " from ": not in " (file == "" ? "any file that is named" : file)
				bad = 1
			}
			file = ""
		}
		inside { block = block $0 "\n" }
		END { exit bad || !quotes }' "$1"
}

links_lead_somewhere()
{
	for file in "$@"; do
		grep -o -E '\]\([^)]+\)' "$file" | sed 's/^](//; s/)$//; s/#.*//' | while read -r link; do
			case $link in
			'' | http://* | https://* | mailto:*) ;;
			*) [ -e "$(dirname "$file")/$link" ] || echo "$file: $link" ;;
			esac
		done
	done >"$scratch/links"
	cat "$scratch/links"
	[ ! -s "$scratch/links" ]
}

verdict "$(prototypes include/vnetrx/*.h | wc -l) public functions have a comment directly above" \
	all_documented include/vnetrx/*.h
verdict "the README's program is examples/quickstart.c" same_program README.md examples/quickstart.c
verdict "$(grep -c '^```c$' docs/porting.md) pieces of code in docs/porting.md stand in the sources" \
	quotes_are_source docs/porting.md
verdict 'links in *.md lead to files' links_lead_somewhere ./*.md docs/*.md

printf 'int documented(int a); /* above? */\n\nint bare(int a);\n' >"$scratch/control.h"
refused 'public function without a comment' all_documented "$scratch/control.h"
printf '```c\nint main(void) { return 1; }\n```\n' >"$scratch/README.md"
echo 'int main(void) { return 0; }' >"$scratch/program.c"
refused 'README with another program' same_program "$scratch/README.md" "$scratch/program.c"
printf 'From [it](program.c):\n\n```c\nint main(void) { return 1; }\n```\n' >"$scratch/quote.md"
refused 'quotation of what is not there' quotes_are_source "$scratch/quote.md"
echo '[there](nowhere.md#part)' >"$scratch/control.md"
refused 'link to no file' links_lead_somewhere "$scratch/control.md"
finish
