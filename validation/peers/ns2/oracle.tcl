# The exact packet log of the setting of figures 3 and 4 of "momentary":
# ns oracle.tcl [-recovery NAME] [-until SECONDS] [-first 24] [-last 30] [-header 40]
# NAME: reno newreno newreno-sbs sack sack-pa fack
# Prints CSV: recovery,time,event,packet,value
#   send      a data packet leaves the sender          value: 1 if a retransmission
#   drop      a data packet is dropped (bottleneck)
#   ack       an ACK reaches the sender; packet: the last packet received in order
#   cwnd      cwnd_ changed to value                    packet: highest ACK so far
#   ssthresh  ssthresh_ changed to value                packet: highest ACK so far
#   timeout   the retransmission timer fired            packet: highest ACK so far
# Packet 0 is the SYN. Lines with the same time are in the order of their events.

array set opt {recovery newreno-sbs until 10 first 24 last 30 ssthresh 10 size 1000 header 40}
foreach {key value} $argv {
    set key [string trimleft $key -]
    if {![info exists opt($key)]} { puts stderr "oracle.tcl: unknown key -$key"; exit 2 }
    set opt($key) $value
}
array set agents {
    reno         {TCP/Reno     0 {}}
    newreno      {TCP/Newreno  0 {newreno_changes1_ 1}}
    newreno-sbs  {TCP/Newreno  0 {newreno_changes1_ 0}}
    sack         {TCP/Sack1    1 {}}
    sack-pa      {TCP/Sack1    1 {partial_ack_ true}}
    fack         {TCP/Fack     1 {}}
}
if {![info exists agents($opt(recovery))]} {
    puts stderr "oracle.tcl: unknown recovery $opt(recovery)"; exit 2
}
foreach {kind sacked settings} $agents($opt(recovery)) break

set ns [new Simulator]
foreach n {s r1 r2 d} { set $n [$ns node] }
$ns duplex-link $s  $r1 10Mb  1ms DropTail
$ns duplex-link $r1 $r2  1Mb 98ms DropTail
$ns duplex-link $r2 $d  10Mb  1ms DropTail
foreach {from to} [list $s $r1 $r1 $s $r1 $r2 $r2 $r1 $r2 $d $d $r2] {
    $ns queue-limit $from $to 100000
}

# Nothing is retransmitted before the first drop, so the n-th packet to reach
# the bottleneck, counted from 0, is packet n.
set doomed {}
for {set n $opt(first)} {$n <= $opt(last)} {incr n} { lappend doomed $n }
if {[llength $doomed]} {
    set em [new ErrorModel/List]
    $em droplist $doomed
    $ns lossmodel $em $r1 $r2
}

set tcp [new Agent/$kind]
$tcp set packetSize_ $opt(size)
$tcp set useHeaders_ [expr {$opt(header) > 0 ? "true" : "false"}]
if {$opt(header) > 0} { $tcp set tcpip_base_hdr_size_ $opt(header) }
$tcp set window_ 10000
foreach {var value} $settings { $tcp set $var $value }
set sink [new Agent/TCPSink[expr {$sacked ? "/Sack1" : ""}]]
$ns attach-agent $s $tcp
$ns attach-agent $d $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp

proc emit {event packet value} {
    global ns opt
    puts [format "%s,%.9f,%s,%s,%s" $opt(recovery) [$ns now] $event $packet $value]
}

# Link traces: fields 0 event, 2 from, 3 to, 4 type, 10 packet number.
set highest -1
proc link_event {what line} {
    global highest
    set op [lindex $line 0]
    set packet [lindex $line 10]
    switch $what,$op {
        up,+ {
            emit send $packet [expr {$packet <= $highest}]
            if {$packet > $highest} { set highest $packet }
        }
        down,r { emit ack $packet "" }
        mid,d  { emit drop $packet "" }
    }
}
[$ns link $s $r1]  trace-callback $ns "link_event up"
[$ns link $r1 $s]  trace-callback $ns "link_event down"
[$ns link $r1 $r2] trace-callback $ns "link_event mid"

# The traces of variables are written to a channel, which calls this procedure.
set backoff 1
proc variable_sink {op chan args} {
    global tcp backoff
    switch $op {
        initialize { return {initialize finalize watch write} }
        write {
            set text [lindex $args 0]
            foreach line [split [string trimright $text \n] \n] {
                set name [lindex $line 5]
                set ack [$tcp set ack_]
                switch $name {
                    cwnd_     { emit cwnd $ack [format %.6f [$tcp set cwnd_]] }
                    ssthresh_ { emit ssthresh $ack [$tcp set ssthresh_] }
                    backoff_  {
                        set now [$tcp set backoff_]
                        if {$now > $backoff} { emit timeout $ack $now }
                        set backoff $now
                    }
                }
            }
            return [string length $text]
        }
    }
}
set chan [chan create write variable_sink]
fconfigure $chan -buffering none
$tcp attach $chan

# The start of the simulator resets the agent and sets ssthresh_ to window_.
proc begin {} {
    global tcp ftp opt
    $tcp set ssthresh_ $opt(ssthresh)
    foreach var {cwnd_ ssthresh_ backoff_} { $tcp trace $var }
    $ftp start
}
puts "recovery,time,event,packet,value"
$ns at 0.0 begin
$ns at $opt(until) "exit 0"
$ns run
