# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # tests/lib.sh sets $logs and $stage_name
# Proofs with Frama-C (WP and EVA), Z3 and CVC4: what they say is in docs/proof.md. Sourced by tests/run.sh.
#
#	VNETRX_MODULES="csum ring"  only these of tests/proof/modules, and their planted bugs; also eva, spin, forms and
#	                           assumptions, which belong to no module
#	VNETRX_EVA_MAX=128          the parser up to this length; 256 without it
#	VNETRX_SMOKE=1              also looks for contracts that contradict themselves or leave code unreachable
#
# Two stages run at a time. HOME is below build/, because Why3 keeps its list of provers there.

top=$PWD
proof_dir=$PWD/build/proof
proof_table=tests/proof/modules

# Hypotheses are not filtered: the filter takes away what is known of assigned structures.
# Arrays of rings have up to 256 elements: all of them one by one also where the index is not known.
eva_options='-eva -eva-verbose 1 -eva-split-return auto -eva-plevel 300'
wp_smoke='-wp-smoke-tests -wp-smoke-timeout 3'
wp_options='-wp -wp-rte -wp-no-filter -wp-prover cvc4,z3 -wp-timeout 20 -wp-par 1'

proof()
{
	mkdir -p "$proof_dir/home"
	stage proof-tools proof_tools
	sum_of "$logs/proof-tools.count" >/dev/null || return
	proof_stages | in_two_lanes
}

proof_tools()
{
	need frama-c-base why3 z3 cvc4 patch spin
	HOME=$proof_dir/home why3 config detect
	echo 'ok - tools' | counted_lines
}

proof_modules()
{
	# shellcheck disable=SC2086 # a list of words
	echo ${VNETRX_MODULES:-$(grep -v '^#' $proof_table | cut -d ' ' -f 1 | sort -u) eva spin forms assumptions}
}

# Lines "STAGE FUNCTION ARG...".
proof_stages()
{
	for module in $(proof_modules); do
		case $module in
		eva)
			for lane in 0 1 2 3 4 5 6 7; do
				echo "eva-$lane proof_lengths $lane"
			done
			echo 'eva-rings proof_rings' ;;
		spin)
			for model in tests/proof/spin/*.pml; do
				echo "spin-$(basename "$model" .pml) proof_model $model"
			done ;;
		forms | assumptions) echo "$module proof_$module" ;;
		*) echo "wp-$module proof_module $module" ;;
		esac
	done
	for bug in tests/proof/bugs/*.bug; do
		bug=$(basename "$bug" .bug)
		case " $(proof_modules) " in
		*" ${bug%%-*} "*) echo "bug-$bug proof_bug $bug" ;;
		esac
	done
}

# Runs the stages of stdin, two at a time: each of two workers takes the next.
in_two_lanes()
{
	cat >"$logs/stages"
	proof_worker &
	proof_worker
	wait
}

proof_worker()
{
	while read -r turn; do
		name=${turn%% *}
		mkdir "$logs/$name.taken" 2>/dev/null || continue
		# shellcheck disable=SC2086 # a list of words
		stage $turn </dev/null
	done <"$logs/stages"
}

frama_c()
{
	HOME=$proof_dir/home frama-c -c11 -no-unicode "$@"
}

# wp ROOT SOURCE CHECKS FUNCTION,...: prints the log; sets $proved and $goals. False when it was no run at all.
wp()
{
	case $3 in
	all) overflow=-warn-unsigned-overflow ;;
	wraps) overflow=-no-warn-unsigned-overflow ;;
	esac
	wp_log=$proof_dir/$stage_name.wp
	# shellcheck disable=SC2086 # a list of options
	frama_c -cpp-extra-args="-I$1/include -I$1/lib" $wp_options $overflow ${VNETRX_SMOKE:+$wp_smoke} -wp-fct "$4" \
		"$1/$2" >"$wp_log" 2>&1
	wp_result=$?
	cat "$wp_log"
	proved=$(sed -n 's|^\[wp\] Proved goals: *\([0-9]*\) / *\([0-9]*\)$|\1|p' "$wp_log")
	goals=$(sed -n 's|^\[wp\] Proved goals: *\([0-9]*\) / *\([0-9]*\)$|\2|p' "$wp_log")
	if [ $wp_result != 0 ] || [ "${goals:-0}" = 0 ] || grep -q 'User Error' "$wp_log"; then
		echo "not ok - no proof was tried of $4"
		return 1
	fi
}

# The functions of a line of the table, commas between them; those in brackets are left out.
proof_functions()
{
	echo "$1" | sed 's/\[[^]]*\]//g' | tr -s ' ' ',' | sed 's/^,//; s/,$//'
}

# One module: every goal is a case.
proof_module()
{
	grep "^$1 " $proof_table | while read -r _ source checks functions; do
		functions=$(proof_functions "$functions")
		[ -n "$functions" ] || continue
		wp . "$source" "$checks" "$functions" || { echo '0 1 0' >>"$logs/$stage_name.count"; continue; }
		echo "$proved $((goals - proved)) 0" >>"$logs/$stage_name.count"
	done
}

# A planted bug: what it touches must no longer be proved, and the rest of the run must be sound.
proof_bug()
{
	bug=tests/proof/bugs/$1.bug
	root=$proof_dir/$1
	rm -rf "$root"
	mkdir -p "$root"
	cp -R lib include "$root"
	sed '1,/^$/d' "$bug" | patch -s -p1 -d "$root"
	harness=$(sed -n 's/^Harness: //p' "$bug")
	if [ -n "$harness" ]; then
		proof_bug_eva "$1" "$root" "$harness" "$(sed -n 's/^Defines: //p' "$bug")" | counted_lines
		return
	fi
	source=$(sed -n 's/^Source: //p' "$bug")
	checks=$(sed -n 's/^Checks: //p' "$bug")
	functions=$(sed -n 's/^Functions: //p' "$bug")
	if ! wp "$root" "$source" "$checks" "$functions"; then
		echo '0 1 0' >>"$logs/$stage_name.count"
	elif [ "$proved" -lt "$goals" ] && [ "$proved" -gt 0 ]; then
		echo "ok - $1: $proved of $goals" | counted_lines
	else
		echo "not ok - $1: not found" | counted_lines
	fi
}

# The same with EVA: there must be an alarm.
proof_bug_eva()
{
	found=0
	proof_plain "$2" "$1-plain"
	eva "$proof_dir/$1-plain" "$3" "$1" "$4" || found=$?
	case $found in
	1) echo "ok - $1: an alarm" ;;
	*) echo "not ok - $1: not found" ;;
	esac
}

# The sources below ROOT without contracts, for EVA, which then takes nothing for granted.
proof_plain()
{
	rm -rf "${proof_dir:?}/$2"
	(cd "$1" && python3 "$top/tests/proof/plain.py" "$proof_dir/$2")
}

# eva ROOT HARNESS NAME DEFINES: true when it reached the end of the harness and has no alarm.
eva()
{
	case $2 in
	dissect) eva_sources="$1/lib/gro/dissect.c $1/lib/gro/tunnel.c $1/lib/gro/csum.c" ;;
	virtq) eva_sources=$(echo "$1"/lib/virtio/virtq_split*.c "$1"/lib/virtio/virtq_packed*.c) ;;
	esac
	eva_log=$proof_dir/eva-$3.log
	# shellcheck disable=SC2086 # lists of words
	frama_c -cpp-extra-args="-I$1/include -I$1/lib $4" $eva_options -eva-slevel "$(eva_level "$2")" \
		"tests/proof/eva/$2.c" $eva_sources >"$eva_log" 2>&1 </dev/null || { cat "$eva_log" >&2; return 2; }
	if grep -q 'User Error' "$eva_log" || ! grep -q 'alarms* generated by' "$eva_log"; then
		cat "$eva_log" >&2
		return 2
	fi
	if ! grep -q '^ *0 alarms generated by the analysis' "$eva_log"; then
		grep -A 3 'assert ' "$eva_log" >&2
		return 1
	fi
	# Without an alarm the end must be reached, or nothing was tried.
	grep -q 'NON TERMINATING' "$eva_log" || return 0
	cat "$eva_log" >&2
	return 2
}

eva_level()
{
	case $1 in
	dissect) echo 10 ;;
	virtq) echo 300 ;;
	esac
}

verdict()
{
	if "$@"; then
		echo "ok - $3 $4"
	else
		echo "not ok - $3 $4"
	fi
}

# Every eighth length from $1 on, each in a process of its own: one case.
proof_lengths()
{
	proof_plain . "plain-$stage_name"
	length=$1
	while [ "$length" -le "${VNETRX_EVA_MAX:-256}" ]; do
		verdict eva_named dissect "frame-$length" "-DLEN=$length"
		length=$((length + 8))
	done | counted_lines
}

# eva_named HARNESS NAME DEFINES
eva_named()
{
	eva "$proof_dir/plain-$stage_name" "$1" "$2" "$3"
}

# One step of rings of several sizes: one case each.
proof_rings()
{
	proof_plain . "plain-$stage_name"
	for ring in 0:1 0:2 0:8 0:64 0:256 1:1 1:2 1:8 1:64 1:256 2:1 2:2 2:5 2:64 2:100 3:1 3:2 3:5 3:64 3:100; do
		verdict eva_named virtq "ring-${ring%:*}-${ring#*:}" "-DRING=${ring%:*} -DSIZE=${ring#*:}"
	done | counted_lines
}

# A model holds, and does not with any of the bugs named in its head.
proof_model()
{
	model=$(basename "$1" .pml)
	{
		model_errors "$1" "$model" && echo "ok - $model"
		for bug in $(grep -o '^#if[n]*def [A-Z_]*' "$1" | cut -d ' ' -f 2 | sort -u); do
			model_errors "$1" "$model" "$bug" || echo "ok - $model with $bug is found"
		done
	} >"$logs/$stage_name.out"
	cat "$logs/$stage_name.out"
	[ "$(grep -c '^ok' "$logs/$stage_name.out")" -gt 2 ] || echo 'not ok - too few' >>"$logs/$stage_name.out"
	counted_lines <"$logs/$stage_name.out"
}

# model_errors FILE NAME [BUG]: true when every state was reached and none is wrong, false when one is.
model_errors()
{
	dir=$proof_dir/spin-$2${3:+-$3}
	rm -rf "$dir"
	mkdir -p "$dir"
	cp tests/proof/spin/* "$dir"
	(
		cd "$dir" && spin ${3:+-D$3} -a "$2.pml" >&2 &&
			gcc -O1 -DSAFETY -DCOLLAPSE -o pan pan.c && ./pan -m4000000
	) >"$dir/log" 2>&1 </dev/null
	grep 'errors:\|states, stored\|total actual' "$dir/log" >&2
	if grep -q 'max search depth too small' "$dir/log" || ! grep -q 'errors:' "$dir/log"; then
		echo "not ok - $2${3:+ with $3}: no search"
		return 1
	fi
	if grep -q 'errors: 0' "$dir/log"; then
		[ -z "${3:-}" ] || echo "not ok - $2 with $3: not found"
		return 0
	fi
	[ -n "${3:-}" ] || echo "not ok - $2"
	return 1
}

# What was proved instead of a compiler's form does the same, for ten million random inputs.
proof_forms()
{
	CC=gcc configure build/release $release
	meson compile -C build/release tests/test_forms
	CMOCKA_MESSAGE_OUTPUT=TAP VNETRX_FORMS=10000000 build/release/tests/test_forms >"$logs/$stage_name.tap"
	cat "$logs/$stage_name.tap"
	counted_lines <"$logs/$stage_name.tap"
}

proof_assumptions()
{
	result=0
	python3 tests/proof/assumptions.py >"$logs/$stage_name.out" || result=$?
	cat "$logs/$stage_name.out"
	counted_lines <"$logs/$stage_name.out"
	return $result
}
