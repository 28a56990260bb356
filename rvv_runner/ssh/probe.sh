# Prints what a board is, one fact a line behind its name; run as: sh -c CONTENTS sh SYS
export LC_ALL=C
sys=$1
echo "machine $(uname -m)"
echo "kernel $(uname -sr)"
echo "online $(cat "$sys/devices/system/cpu/online")"
for tool in cat chmod env find flock grep mkdir mv rm sha256sum sleep timeout touch; do
    command -v "$tool" >/dev/null || echo "missing $tool"
done
! command -v timeout >/dev/null || timeout -k 1 5 true || echo "missing timeout with -k"
for tool in taskset perf; do
    ! command -v "$tool" >/dev/null || echo "has $tool"
done
# Every processor has its own lines; the distinct ones, then the core of each.
grep -E '^(mvendorid|marchid|isa|uarch)[[:space:]]*:' /proc/cpuinfo | sort -u |
    while IFS=: read -r name value; do echo "cpu.${name%%[[:space:]]*} ${value# }"; done
while IFS=: read -r name value; do
    case $name in
        processor*) number=${value# } ;;
        marchid*) echo "marchid_of $number ${value# }" ;;
    esac
done </proc/cpuinfo
for file in "$sys"/devices/system/cpu/cpu*/cpufreq/scaling_governor; do
    [ -r "$file" ] && read -r governor <"$file" && echo "governor $governor"
done
for file in "$sys"/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq; do
    [ -r "$file" ] && read -r frequency <"$file" && echo "highest_khz $frequency"
done
for file in "$sys"/class/thermal/thermal_zone*/temp; do
    [ -r "$file" ] && read -r temperature 2>/dev/null <"$file" && echo "temperature $temperature"
done
for setting in perf_event_paranoid perf_user_access; do
    [ -r "/proc/sys/kernel/$setting" ] && echo "$setting $(cat "/proc/sys/kernel/$setting")"
done
true
