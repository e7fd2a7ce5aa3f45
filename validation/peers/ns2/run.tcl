# One bulk transfer over one link in ns-2.35. Prints one line of CSV:
#   id,recovery,seed,goodput_bytes_per_s,retransmissions,timeouts
#
# ns run.tcl -id NAME -recovery NAME -seed N [-key value ...]
# README.md explains every key; the defaults are below.

array set opt {
    id        -
    recovery  newreno
    seed      1
    rate      10e6
    delay     0.010
    loss      0
    buffer    1000
    delack    0
    size      1000
    header    40
    window    10000
    ssthresh  0
    duration  300
    packets   0
    access    0
}
foreach {key value} $argv {
    set key [string trimleft $key -]
    if {![info exists opt($key)]} { puts stderr "run.tcl: unknown key -$key"; exit 2 }
    set opt($key) $value
}

# For each recovery: the agent of the sender, 1 if the receiver sends SACK blocks, and settings of the agent.
array set agents {
    tahoe        {TCP          0 {}}
    reno         {TCP/Reno     0 {}}
    newreno      {TCP/Newreno  0 {newreno_changes1_ 1}}
    newreno-sbs  {TCP/Newreno  0 {newreno_changes1_ 0}}
    newreno-fix  {TCP/Newreno  0 {exit_recovery_fix_ 1}}
    sack         {TCP/Sack1    1 {}}
    sack-pa      {TCP/Sack1    1 {partial_ack_ true}}
    fack         {TCP/Fack     1 {}}
}
if {![info exists agents($opt(recovery))]} {
    puts stderr "run.tcl: unknown recovery $opt(recovery)"; exit 2
}
foreach {kind sacked settings} $agents($opt(recovery)) break

# One seed determines the phase of the sender's 10 ms clock (ns-2's default
# stream), the losses and the start time.
ns-random $opt(seed)
set loss_rng [new RNG]
$loss_rng seed [expr {1000 + 7919 * $opt(seed)}]
set start_rng [new RNG]
$start_rng seed [expr {500 + 104729 * $opt(seed)}]
set start [$start_rng uniform 0.0 [expr {2.0 * $opt(delay)}]]

set ns [new Simulator]
set a [$ns node]
set b [$ns node]
# The sender's end of the bottleneck; with an access link, a router.
set r $a
if {$opt(access) > 0} {
    set r [$ns node]
    $ns duplex-link $a $r $opt(access) 0.001 DropTail
    $ns queue-limit $a $r 100000
    $ns queue-limit $r $a 100000
}
$ns simplex-link $r $b $opt(rate) $opt(delay) DropTail
$ns simplex-link $b $r $opt(rate) $opt(delay) DropTail
$ns queue-limit $r $b $opt(buffer)
$ns queue-limit $b $r 100000

if {$opt(loss) > 0} {
    set draw [new RandomVariable/Uniform]
    $draw use-rng $loss_rng
    $draw set min_ 0.0
    $draw set max_ 1.0
    set em [new ErrorModel]
    $em unit pkt
    $em set rate_ $opt(loss)
    $em ranvar $draw
    # The losses occur in front of the queue, in the direction of the data only.
    $ns lossmodel $em $r $b
}

set tcp [new Agent/$kind]
$tcp set packetSize_ $opt(size)
if {$opt(header) > 0} {
    $tcp set tcpip_base_hdr_size_ $opt(header)
} else {
    $tcp set useHeaders_ false
}
$tcp set window_ $opt(window)
foreach {var value} $settings { $tcp set $var $value }

set sink_kind TCPSink
if {$sacked} { append sink_kind /Sack1 }
if {$opt(delack) > 0} { append sink_kind /DelAck }
set sink [new Agent/$sink_kind]
if {$opt(delack) > 0} { $sink set interval_ $opt(delack) }

$ns attach-agent $a $tcp
$ns attach-agent $b $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp

# TCP/Fack does not count its timeouts in nrexmit_. At every timeout of every
# sender, backoff_ doubles, so the increases of backoff_ are counted instead.
set timeouts 0
set backoff 1
proc watch_backoff {op chan args} {
    global tcp timeouts backoff
    switch $op {
        initialize { return {initialize finalize watch write} }
        write {
            set now [$tcp set backoff_]
            if {$now > $backoff} { incr timeouts }
            set backoff $now
            return [string length [lindex $args 0]]
        }
    }
}
set chan [chan create write watch_backoff]
fconfigure $chan -buffering none
$tcp attach $chan
$tcp trace backoff_

proc report {} {
    global ns opt tcp start timeouts
    # Packet 0 is the SYN, so ack_ is the number of data packets acknowledged.
    set goodput [expr {[$tcp set ack_] * double($opt(size)) / ([$ns now] - $start)}]
    puts [format "%s,%s,%d,%.1f,%d,%d" $opt(id) $opt(recovery) $opt(seed) \
        $goodput [$tcp set nrexmitpack_] $timeouts]
    exit 0
}

# The start of the simulator resets the agents and sets ssthresh_ to window_.
if {$opt(ssthresh) > 0} { $ns at $start "$tcp set ssthresh_ $opt(ssthresh)" }
# The packets to send do not include the SYN, which the agent adds.
if {$opt(packets) > 0} {
    $tcp proc done {} { report }
    $ns at $start "$ftp produce $opt(packets)"
} else {
    $ns at $start "$ftp start"
    $ns at [expr {$start + $opt(duration)}] report
}
$ns run
