# SPDX-License-Identifier: BSD-3-Clause
# Proofs with Frama-C (WP and EVA), Z3 and CVC4: what they say is in docs/proof.md. Sourced by tests/run.sh.
#
#	VNETRX_MODULES="csum ring"  only these of tests/proof/modules, and their planted bugs
#	VNETRX_EVA_MAX=128          the parser up to this length; 256 without it
#
# Two stages run at a time. HOME is below build/, because Why3 keeps its list of provers there.

proof_dir=$PWD/build/proof
proof_table=tests/proof/modules

# Hypotheses are not filtered: the filter takes away what is known of assigned structures.
wp_options='-wp -wp-rte -wp-no-filter -wp-prover z3,cvc4 -wp-timeout 20 -wp-par 1'

proof()
{
	mkdir -p "$proof_dir/home"
	stage proof-tools proof_tools
	sum_of "$logs/proof-tools.count" >/dev/null || return
	proof_stages | in_two_lanes
}

proof_tools()
{
	need frama-c-base why3 z3 cvc4 patch
	HOME=$proof_dir/home why3 config detect
	echo 'ok - tools' | counted_lines
}

proof_modules()
{
	# shellcheck disable=SC2086 # a list of words
	echo ${VNETRX_MODULES:-$(grep -v '^#' $proof_table | cut -d ' ' -f 1 | uniq)}
}

# Lines "STAGE FUNCTION ARG...".
proof_stages()
{
	for module in $(proof_modules); do
		echo "wp-$module proof_module $module"
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
	frama_c -cpp-extra-args="-I$1/include -I$1/lib" $wp_options $overflow -wp-fct "$4" ${wp_more:-} "$1/$2" \
		>"$wp_log" 2>&1
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
