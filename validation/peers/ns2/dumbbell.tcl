# Many SACK transfers through one bottleneck in ns-2.35, for `cargo measure peers`. Prints
#   packets=N setup_s=S run_s=S rss_kb=K
# N: acknowledged data packets at the end; S: wall-clock time.
#
# ns dumbbell.tcl [-key value ...]
# Every flow has its own sender and receiver, each behind a separate link. With -access-rate 0, all senders
# and receivers are at the two ends of the bottleneck.

array set opt {
    flows        10
    rate         100e6
    delay        0.020
    buffer       333
    access-rate  1e9
    access-delay 0.001
    size         1460
    delack       0
    spread       1.0
    duration     20
    seed         1
}
foreach {key value} $argv {
    set key [string trimleft $key -]
    if {![info exists opt($key)]} { puts stderr "dumbbell.tcl: unknown key -$key"; exit 2 }
    set opt($key) $value
}
set begun [clock milliseconds]

proc memory_kb {} {
    set status [open /proc/self/status]
    regexp {VmHWM:\s+(\d+)} [read $status] -> kb
    close $status
    return $kb
}

# A packet contains only the headers that are used, so that ns-2 is faster and needs less memory.
remove-all-packet-headers
add-packet-header Common Flags IP TCP
set ns [new Simulator]
set random [new RNG]
$random seed $opt(seed)
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right $opt(rate) $opt(delay) DropTail
$ns queue-limit $left $right $opt(buffer)
$ns queue-limit $right $left 100000
for {set n 0} {$n < $opt(flows)} {incr n} {
    set a $left
    set b $right
    if {$opt(access-rate) > 0} {
        set a [$ns node]
        set b [$ns node]
        $ns duplex-link $a $left $opt(access-rate) $opt(access-delay) DropTail
        $ns duplex-link $right $b $opt(access-rate) $opt(access-delay) DropTail
        foreach {from to} [list $a $left $left $a $right $b $b $right] {
            $ns queue-limit $from $to 100000
        }
    }
    set sender($n) [new Agent/TCP/Sack1]
    $sender($n) set window_ 100000
    $sender($n) set packetSize_ $opt(size)
    $sender($n) set fid_ $n
    set sink_kind TCPSink/Sack1
    if {$opt(delack) > 0} { append sink_kind /DelAck }
    set sink [new Agent/$sink_kind]
    if {$opt(delack) > 0} { $sink set interval_ $opt(delack) }
    $ns attach-agent $a $sender($n)
    $ns attach-agent $b $sink
    $ns connect $sender($n) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $sender($n)
    $ns at [$random uniform 0 $opt(spread)] "$ftp start"
}
proc finish {} {
    global opt sender begun started
    set packets 0
    for {set n 0} {$n < $opt(flows)} {incr n} {
        incr packets [expr {max(0, [$sender($n) set ack_])}]
    }
    set now [clock milliseconds]
    puts [format "packets=%d setup_s=%.3f run_s=%.3f rss_kb=%d" $packets \
        [expr {($started - $begun) / 1e3}] [expr {($now - $started) / 1e3}] [memory_kb]]
    exit 0
}
# `run` computes the routes before the first event.
$ns at 0.0 { set started [clock milliseconds] }
$ns at $opt(duration) finish
$ns run
