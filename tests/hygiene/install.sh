#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The two ways to use the library: installed, found with pkg-config; and as a Meson subproject.
. "$(dirname "$0")/lib.sh"

cat >"$scratch/user.c" <<'END'
#include <vnetrx.h>
#include <string.h>

int main(void)
{
	return strcmp(vnetrx_strerror(VNETRX_OK), "success");
}
END

installed()
{
	meson setup "$scratch/build" --prefix="$scratch/usr" --buildtype=release -Doptimization=0 -Dtests=false \
		-Dexamples=false -Dbenches=false && meson install -C "$scratch/build"
}

all_headers()
{
	for header in include/vnetrx.h include/vnetrx/*.h; do
		cmp "$header" "$scratch/usr/$header" || return
	done
}

with_pkg_config()
{
	PKG_CONFIG_PATH=$(dirname "$(find "$scratch/usr" -name vnetrx.pc)")
	export PKG_CONFIG_PATH
	# shellcheck disable=SC2046 # lists of options
	gcc $(pkg-config --cflags vnetrx) "$scratch/user.c" $(pkg-config --libs vnetrx) -o "$scratch/user" &&
		"$scratch/user"
}

# Builds the program in the README with the command given there, and what else is in $1.
readme_build()
{
	PKG_CONFIG_PATH=$(dirname "$(find "$scratch/usr" -name vnetrx.pc)")
	export PKG_CONFIG_PATH
	command=$(sed -n '/^cc .*quickstart/s/-o quickstart/-o "$scratch\/quickstart"/p' README.md)
	[ -n "$command" ] && eval "$command $1"
}

as_the_readme_says()
{
	readme_build '' && "$scratch/quickstart" >"$scratch/printed" &&
		grep -q -F -e "It prints \`$(cat "$scratch/printed")\`" README.md
}

# With a heap that has nothing it says so, and does not print a null pointer.
without_memory()
{
	echo 'void *__wrap_aligned_alloc(void); void *__wrap_aligned_alloc(void) { return 0; }' >"$scratch/none.c"
	readme_build "-Wl,--wrap=aligned_alloc $scratch/none.c" || return
	"$scratch/quickstart" 2>"$scratch/printed"
	[ $? = 1 ] && grep -q 'out of memory' "$scratch/printed"
}

as_subproject()
{
	mkdir -p "$scratch/project/subprojects" && ln -s "$PWD" "$scratch/project/subprojects/vnetrx" &&
		cp "$scratch/user.c" "$scratch/project" &&
		cat >"$scratch/project/meson.build" <<-'END' &&
			project('user', 'c')
			vnetrx = dependency('vnetrx', version: '>= 0.1', fallback: 'vnetrx')
			test('user', executable('user', 'user.c', dependencies: vnetrx))
		END
		meson setup "$scratch/project/build" "$scratch/project" && meson test -C "$scratch/project/build"
}

verdict 'meson install' installed
verdict 'every public header is installed' all_headers
verdict 'a program builds with pkg-config and runs' with_pkg_config
verdict 'the program in the README builds as the README says, and prints what it says' as_the_readme_says
verdict 'without memory it says so' without_memory
verdict 'a program builds with the library as a Meson subproject and runs' as_subproject
finish
