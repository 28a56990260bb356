#!/bin/sh
# Runs one measurement on a board and reports it; also finds and ends the processes of one.
#
#   sh job.sh run ID LOCK WAIT LIMIT DEADLINE CORES REPEATS SYS EVENTS -- COMMAND...
#   sh job.sh alive ID        exit status 0 while anything of the measurement is running
#   sh job.sh kill ID         end all of it
#   sh job.sh queue ID LOCK   print who has the lock and who waits for it, or "no-lock" if it cannot be
#                             opened; any ID will do
#
# The environment holds TRITON_RVV_TUNER, who measures; TRITON_RVV_COOL, the thousandths of a degree
# below which a run begins, or nothing; and TRITON_RVV_ENTER, the file into which a process writes its
# number to get to its kind of core, or nothing. WAIT for the lock, LIMIT of one run and DEADLINE of the whole are in seconds. CORES and EVENTS may
# be empty; CORES are numbers of processors with commas between them, EVENTS are groups for perf, with spaces between them and commas within. COMMAND is the
# launcher with its data and grid, without its numbers of runs; or, where REPEATS is empty, a program
# that runs once, while the only group of EVENTS is counted. It is run in the folder of jobs. The
# report is printed, and stays in ../jobs/ID.report for whoever lost the link; it is whole where its
# last line says how it ended. A POSIX shell and few other programs, since starting one takes
# milliseconds on a small core.
set -u
umask 077
export LC_ALL=C

# What one run may write to a file, in blocks of 512 bytes: 1 MiB.
output_blocks=2048
kill_after=2
sweeps=50

# Sets now to the hundredths of a second since the board was started.
clock() {
    read -r up _ </proc/uptime
    now=${up%.*}${up#*.}
}

# Prints the names of the environments of processes that hold this text. Busybox's grep reads a line up to
# its first NUL; it does not find the end of the file "nul" either, and then tr takes the NULs away.
list_environments() {
    [ -s nul ] || printf 'a\0line behind a NUL' >nul
    found=$(grep -lsF -e "$1" -e 'line behind a NUL' nul /proc/[0-9]*/environ)
    case $found in
        nul*) echo "${found#nul}" ;;
        *)
            head -c 100000 /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' |
                grep -F -e '==> /proc/' -e "$1" |
                while read -r word file _; do
                    case $word in '==>') last=$file ;; *) echo "$last" ;; esac
                done
            ;;
    esac
}

# Sets pids to what carries this mark in its environment, which children inherit.
find_marked() {
    pids=
    for file in $(list_environments "$1=$id"); do
        file=${file#/proc/}
        pids="$pids ${file%/environ}"
    done
}

# Kills what carries the mark until nothing does; sets swept to how many there were at first. A process
# of busybox's timeout, which ends up to a second after the program, does not count.
sweep() {
    find_marked "$1"
    swept=0
    for pid in $pids; do
        read -r name <"/proc/$pid/comm" && [ "$name" != timeout ] && swept=$((swept + 1))
    done 2>/dev/null
    tries=0
    while [ -n "$pids" ] && [ "$tries" -lt "$sweeps" ]; do
        kill -KILL $pids 2>/dev/null
        sleep 0.02
        tries=$((tries + 1))
        find_marked "$1"
    done
}

# Prints the file's first line behind a name, where the file can be read.
note() {
    [ -r "$2" ] && read -r value <"$2" 2>/dev/null && echo "$1 $value"
}

# Prints what is to be known of the board's condition, each line after "before" or "after".
condition() {
    note "$1.stat" /proc/stat
    note "$1.load" /proc/loadavg
    # Not through a pipe, which would ask another shell.
    times >times
    { read -r own && read -r children; } <times && echo "$1.cpu_time $own $children"
    for zone in "$sys"/class/thermal/thermal_zone*/temp; do
        note "$1.temperature" "$zone"
    done
    for device in "$sys"/class/thermal/cooling_device*; do
        [ -r "$device/type" ] && read -r type <"$device/type" || continue
        case $type in *cpu*) note "$1.cooling" "$device/cur_state" ;; esac
    done
    first=${cores%%,*}
    for value in scaling_governor scaling_cur_freq scaling_max_freq; do
        note "$1.$value" "$sys/devices/system/cpu/cpu${first:-0}/cpufreq/$value"
    done
}

# Runs a command with a limit in seconds and its errors in the file "err". Sets status, to 124 or
# 137 where the time was up, and took, in hundredths of a second. What the command leaves running
# holds the lock, as descriptor 9.
bounded() {
    limit=$1
    shift
    clock
    began=$now
    (
        ulimit -c 0
        ulimit -f "$output_blocks"
        exec env -i "PATH=$PATH" LC_ALL=C "TRITON_RVV_RUN=$id" timeout -k "$kill_after" "$limit" \
            "$@" 5>&-
    ) </dev/null 2>err
    status=$?
    clock
    took=$((now - began))
}

# Whole seconds until the deadline, at least 1.
seconds_left() {
    clock
    left=$((deadline - (now - start) / 100))
    [ "$left" -ge 1 ] || left=1
}

# Begins a part of the report, whose name stands behind the job's, which no kernel can guess.
part() {
    printf '\n--%s %s\n' "$id" "$1"
}

# The timed run, with the board's condition around it.
measure() {
    condition before
    part out
    bounded "$limit" "$@" --warmup 1 --repeats "$repeats"
    part facts
    echo "status $status"
    echo "run.took $took"
    condition after
    sweep TRITON_RVV_RUN
    echo "left_behind $swept"
    if [ "$status" != 0 ]; then
        part err
        cat err
    fi
}

# One run of any program. Under perf, its status goes through a file: perf ends with 0 where a signal
# ended the program.
measure_program() {
    condition before
    part out
    if [ -n "$groups" ]; then
        bounded "$limit" perf stat -x ';' -o "$id.counts" -e "$groups" -- \
            sh -c 'file=$0; "$@"; echo $? >"$file"' "$id.status" "$@"
        [ ! -s "$id.status" ] || read -r status <"$id.status"
    else
        bounded "$limit" "$@"
    fi
    part facts
    echo "status $status"
    echo "run.took $took"
    condition after
    sweep TRITON_RVV_RUN
    echo "left_behind $swept"
    part err
    cat err
    part counts
    [ ! -r "$id.counts" ] || cat "$id.counts"
    rm -f "$id.counts" "$id.status"
}

# For each group one run without warm-up and one with a single one, both without timed repetitions:
# what they differ by is one run of the grid. Counting is given up where there is not time enough.
count() {
    timed=$took
    for events in $groups; do
        for runs in 0 1; do
            seconds_left
            [ $((left * 100)) -gt $((timed + 100)) ] || return 0
            part "counts-$runs"
            bounded "$left" perf stat -x ';' --log-fd 4 -e "$events" -- \
                "$@" --repeats 0 --warmup "$runs" 4>&1 >/dev/null
            [ "$status" = 0 ] || return 0
            part counted
        done
    done
}

# Ends the report, prints it to descriptor 5, and ends the script.
finish() {
    leave_queue
    part "end $1"
    exec cat "$id.report" >&5 9<&-
}

# Writes who holds the lock, and since when by this board's clock, for those who wait. Where another
# user owns the file, the system may refuse that.
tell_lock() {
    { echo "$*" >"$lock"; } 2>/dev/null || :
}

# Prints the line NAME SECONDS WHO from a file that begins with when who came, in hundredths.
tell_of() {
    read -r since who 2>/dev/null <"$2" && [ -n "$who" ] || return 0
    case $since in *[!0-9]*) ;; *) echo "$1 $((now - since)) $who" ;; esac
}

# Sets before to the ticket of the last one who came before this job and still waits, or to nothing;
# given a word, prints them all. Removes the tickets of killed jobs, whose locks nobody holds; what
# another user's job has left stays, and is passed over.
find_before() {
    before=
    for file in "$queue"/*-*; do
        [ "$file" != "$ticket" ] || break
        [ -f "$file" ] && [ -r "$file" ] || continue # others may put anything there
        (flock -n 7 || exit 1 && rm -f "$file" || :) 7<"$file" 8<&- 9<&- && continue
        before=$file
        [ -z "$1" ] || tell_of waiting "$file"
    done 2>/dev/null
}

# Prints that somebody has the lock, who it is, and who waits for it.
report_queue() {
    echo held
    clock
    tell_of holder "$lock"
    ticket=
    find_before print
}

# Makes a ticket whose lock ends with this process; it gets its name once it is locked. Without one,
# where the folder cannot be made or written, the job waits for the lock alone.
take_ticket() {
    [ -d "$queue" ] || mkdir -m 1777 "$queue" 2>/dev/null
    name=$((now + 1000000000000))-$id
    { (umask 022 && echo "$now $TRITON_RVV_TUNER" >"$queue/.$name"); } 2>/dev/null || return 0
    command exec 8<"$queue/.$name" || return 0
    flock 8
    mv "$queue/.$name" "$queue/$name" && ticket=$queue/$name
}

# Whether this job still waits; sets left to for how many seconds.
is_patient() {
    clock
    left=$((wait - (now - start) / 100))
    [ "$left" -gt 0 ]
}

# Waits until all who came before have had the lock, then for the lock. What waits here does not
# hold the ticket's lock, so that a job leaves the queue as soon as it is killed. The limit is
# timeout's, since not every flock has one.
wait_in_queue() {
    take_ticket
    before=
    [ -z "$ticket" ] || find_before ""
    while [ -n "$before" ]; do
        is_patient || return 1
        timeout "$left" flock -s 7 7<"$before" 8<&- 9<&- 2>/dev/null
        find_before ""
    done
    { echo "next $start $TRITON_RVV_TUNER" >>"$lock"; } 2>/dev/null || :
    is_patient && timeout "$left" flock 9 8<&-
}

# Whether there is a lock that can be opened: for reading, since others may own the file. A missing
# one is made so that they can open it too.
find_lock() {
    [ -e "$lock" ] || (umask 0 && : >>"$lock") 2>/dev/null
    [ -f "$lock" ] && [ -r "$lock" ]
}

# Sets waited to the hundredths of a second that others held the lock.
take_lock() {
    find_lock || finish no-lock # where exec fails, it ends the shell
    exec 9<"$lock"
    clock
    start=$now
    find_before ""
    if [ -n "$before" ] || ! flock -n 9; then
        report_queue
        wait_in_queue || finish busy
    fi
    clock
    waited=$((now - start))
    tell_lock "$now" "$TRITON_RVV_TUNER"
    leave_queue
}

# Only now does the next one see that this job no longer waits.
leave_queue() {
    [ -n "$ticket" ] || return 0
    rm -f "$ticket"
    ticket=
    exec 8<&-
}

# Sets hottest to the highest temperature that the board shows, in thousandths of a degree.
find_hottest() {
    hottest=0
    for zone in "$sys"/class/thermal/thermal_zone*/temp; do
        [ -r "$zone" ] && read -r value <"$zone" 2>/dev/null || continue
        [ "$value" -gt "$hottest" ] 2>/dev/null && hottest=$value
    done
}

# Waits until the board is at most so hot, for half of the time that is left, which is printed ahead of
# the report; an empty number is any temperature.
cool_down() {
    [ -n "$1" ] || return 0
    seconds_left
    patience=$((left / 2))
    find_hottest
    [ "$hottest" -le "$1" ] || echo "hot $hottest $patience" >&5
    while [ "$hottest" -gt "$1" ] && [ "$patience" -gt 0 ]; do
        sleep 1
        patience=$((patience - 1))
        find_hottest
    done
}

run() {
    lock=$1 wait=$2 limit=$3 deadline=$4 cores=$5 repeats=$6 sys=$7 groups=$8
    queue=$lock.queue ticket=
    shift 9
    exec 5>&1 >"$id.report"
    part head
    for word; do
        # Another tuner that uses the folder may have made room.
        case $word in ../files/*) [ -s "$word" ] || finish missing ;; esac
    done
    take_lock
    clock
    cooling=$now
    cool_down "$TRITON_RVV_COOL"
    clock
    cooled=$((now - cooling))
    seconds_left
    [ "$limit" -le "$left" ] || limit=$left
    echo "waited $waited"
    echo "cooled $cooled"
    echo "limit $limit"
    [ -z "$cores" ] || set -- taskset -c "$cores" "$@"
    # The number stays the same from here to the program, which has not used vectors yet.
    [ -z "$TRITON_RVV_ENTER" ] || set -- sh -c 'echo $$ >"$0" && exec "$@"' "$TRITON_RVV_ENTER" "$@"
    if [ -z "$repeats" ]; then
        measure_program "$@"
        tell_lock
        finish done
    fi
    measure "$@"
    # Counted only where the timed run was right: anything else has no use for counters.
    if [ -n "$groups" ] && [ "$status" = 0 ]; then
        count "$@"
        sweep TRITON_RVV_RUN
    fi
    tell_lock
    finish done
}

# The script lies in the folder of files, beside that of jobs.
cd "${0%/*}/../jobs" || exit 1
mode=$1 id=$2
shift 2
case $mode in
    run) run "$@" ;;
    alive)
        find_marked TRITON_RVV_RUN
        [ -z "$pids" ] || exit 0
        find_marked TRITON_RVV_JOB
        [ -n "$pids" ]
        ;;
    kill)
        sweep TRITON_RVV_JOB
        sweep TRITON_RVV_RUN
        rm -f "$id.report"
        ;;
    queue)
        lock=$1 queue=$1.queue
        if ! find_lock; then
            echo no-lock
        else
            flock -s -n 7 7<"$lock" || report_queue
        fi
        ;;
esac
