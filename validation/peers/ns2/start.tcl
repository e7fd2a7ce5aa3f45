# A hundred simultaneous slow starts: table 1 of "momentary" at a tenth of its size.
# ns start.tcl [-seed N] [-until SECONDS] [-flows N] [-rate BPS] [-buffer PACKETS]
# Prints one line of CSV per flow: seed,flow,goodput_kbit_s
# The senders are SACK with two retransmissions for a partial ACK (partial_ack_).

array set opt {seed 1 until 60 flows 100 rate 95e6 buffer 1000 delay 0.180 spread 0.4 size 1000}
foreach {key value} $argv {
    set key [string trimleft $key -]
    if {![info exists opt($key)]} { puts stderr "start.tcl: unknown key -$key"; exit 2 }
    set opt($key) $value
}
set ns [new Simulator]
set random [new RNG]
$random seed $opt(seed)
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right $opt(rate) $opt(delay) DropTail
$ns queue-limit $left $right $opt(buffer)
$ns queue-limit $right $left 1000000
for {set n 0} {$n < $opt(flows)} {incr n} {
    set sender($n) [new Agent/TCP/Sack1]
    $sender($n) set window_ 1000000
    $sender($n) set packetSize_ $opt(size)
    $sender($n) set partial_ack_ true
    $sender($n) set fid_ $n
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $left $sender($n)
    $ns attach-agent $right $sink
    $ns connect $sender($n) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $sender($n)
    $ns at [$random uniform 0 $opt(spread)] "$ftp start"
}
proc finish {} {
    global opt sender
    for {set n 0} {$n < $opt(flows)} {incr n} {
        set packets [expr {max(0, [$sender($n) set ack_])}]
        puts [format "%s,%d,%.1f" $opt(seed) $n [expr {$packets * $opt(size) * 8e-3 / $opt(until)}]]
    }
    exit 0
}
$ns at $opt(until) finish
$ns run
