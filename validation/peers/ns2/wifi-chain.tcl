# One bulk transfer over a chain of 802.11b stations in ns-2.35, for `cargo measure peers`. Prints
#   packets=N setup_s=S run_s=S rss_kb=K
# N: acknowledged data packets at the end; S: wall-clock time.
#
# ns wifi-chain.tcl [-key value ...]
# Stations are 200 m apart, with a range of 250 m and a carrier-sense range of 550 m (ns-2's default
# radio). Data is sent at 11 Mbit/s and everything else at 1 Mbit/s, without RTS/CTS. ns-2 has no static
# routes over radio: AODV finds a route, and a new one whenever it mistakes a lost frame for a broken link.

array set opt { hops 5 window 8 size 1000 duration 200 seed 1 }
foreach {key value} $argv {
    set key [string trimleft $key -]
    if {![info exists opt($key)]} { puts stderr "wifi-chain.tcl: unknown key -$key"; exit 2 }
    set opt($key) $value
}
set begun [clock milliseconds]
ns-random $opt(seed)

proc memory_kb {} {
    set status [open /proc/self/status]
    regexp {VmHWM:\s+(\d+)} [read $status] -> kb
    close $status
    return $kb
}

Mac/802_11 set dataRate_ 11Mb
Mac/802_11 set basicRate_ 1Mb
Mac/802_11 set PLCPDataRate_ 1Mb
Mac/802_11 set RTSThreshold_ 3000

# Tracing is off: without options such as -agentTrace, ns-2 would format the lines of a trace and discard them.
set ns [new Simulator]
set null [open /dev/null w]
$ns trace-all $null
remove-all-packet-headers
add-packet-header Common Flags IP TCP LL Mac ARP AODV
set ground [new Topography]
$ground load_flatgrid [expr {200 * $opt(hops) + 100}] 100
create-god [expr {$opt(hops) + 1}]
$ns node-config -adhocRouting AODV -llType LL -macType Mac/802_11 \
    -ifqType Queue/DropTail/PriQueue -ifqLen 50 -antType Antenna/OmniAntenna \
    -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $ground \
    -agentTrace OFF -routerTrace OFF -macTrace OFF -movementTrace OFF
for {set n 0} {$n <= $opt(hops)} {incr n} {
    set station($n) [$ns node]
    $station($n) random-motion 0
    $station($n) set X_ [expr {200.0 * $n + 1}]
    $station($n) set Y_ 1.0
    $station($n) set Z_ 0.0
}
set sender [new Agent/TCP/Newreno]
$sender set window_ $opt(window)
$sender set packetSize_ $opt(size)
set sink [new Agent/TCPSink]
$ns attach-agent $station(0) $sender
$ns attach-agent $station($opt(hops)) $sink
$ns connect $sender $sink
set ftp [new Application/FTP]
$ftp attach-agent $sender
proc finish {} {
    global sender begun started
    set now [clock milliseconds]
    puts [format "packets=%d setup_s=%.3f run_s=%.3f rss_kb=%d" [$sender set ack_] \
        [expr {($started - $begun) / 1e3}] [expr {($now - $started) / 1e3}] [memory_kb]]
    exit 0
}
$ns at 0.0 { set started [clock milliseconds] }
$ns at 0.0 "$ftp start"
$ns at $opt(duration) finish
$ns run
