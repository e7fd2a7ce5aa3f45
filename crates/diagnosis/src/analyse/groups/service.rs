//! Services identified by their well-known ports.

/// Common services over TCP with their usual names, sorted by port (our choice).
const SERVICES: [(u16, &str); 62] = [
    (20, "ftp-data"),
    (21, "ftp"),
    (22, "ssh"),
    (23, "telnet"),
    (25, "smtp"),
    (53, "dns"),
    (80, "http"),
    (88, "kerberos"),
    (110, "pop3"),
    (111, "rpcbind"),
    (119, "nntp"),
    (135, "msrpc"),
    (139, "netbios"),
    (143, "imap"),
    (179, "bgp"),
    (389, "ldap"),
    (443, "https"),
    (445, "smb"),
    (465, "smtps"),
    (514, "syslog"),
    (515, "printer"),
    (543, "klogin"),
    (554, "rtsp"),
    (587, "submission"),
    (631, "ipp"),
    (636, "ldaps"),
    (853, "dns over tls"),
    (873, "rsync"),
    (989, "ftps-data"),
    (990, "ftps"),
    (993, "imaps"),
    (995, "pop3s"),
    (1080, "socks"),
    (1433, "mssql"),
    (1521, "oracle"),
    (1883, "mqtt"),
    (2049, "nfs"),
    (2181, "zookeeper"),
    (2379, "etcd"),
    (3128, "proxy"),
    (3260, "iscsi"),
    (3306, "mysql"),
    (3389, "rdp"),
    (4222, "nats"),
    (5060, "sip"),
    (5201, "iperf3"),
    (5222, "xmpp"),
    (5432, "postgres"),
    (5671, "amqps"),
    (5672, "amqp"),
    (5900, "vnc"),
    (6379, "redis"),
    (6443, "kubernetes"),
    (8080, "http"),
    (8443, "https"),
    (8883, "mqtts"),
    (9042, "cassandra"),
    (9090, "prometheus"),
    (9092, "kafka"),
    (9200, "elasticsearch"),
    (11_211, "memcached"),
    (27_017, "mongodb"),
];

/// Returns the usual service of a port; `None` if the port has no common service.
#[must_use]
pub fn service(port: u16) -> Option<&'static str> {
    let place = SERVICES.binary_search_by_key(&port, |(port, _)| *port);
    let (_, name) = SERVICES.get(place.ok()?)?;
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_has_the_name_of_its_service() {
        assert!(SERVICES.is_sorted_by(|one, other| one.0 < other.0));
        for (port, name) in [
            (443, Some("https")),
            (5432, Some("postgres")),
            (20, Some("ftp-data")),
            (27_017, Some("mongodb")),
            (444, None),
            (0, None),
            (65_535, None),
        ] {
            assert_eq!(service(port), name, "{port}");
        }
    }
}
