/** Settings of the limits for keys, addresses and workspaces (docs/api-rules.md#limits). */
import { integer, origins, ranges, type SettingsTable } from './setting-types.ts'

export const LIMIT_SETTINGS = {
  TRUST_PROXY: [
    ranges.prefault(''),
    null,
    'proxies in front of this server, comma-separated: IP addresses, ranges (`10.0.0.0/8`). What they say in `X-Forwarded-For` is whom a request is from; their own connections are not counted. None: nobody is believed',
  ],
  CORS_ORIGINS: [
    origins.prefault(''),
    null,
    'origins whose pages may call, comma-separated (`https://example.com`): with a key or a token, never over a session. None: no page but ours',
  ],
  RATE_LIMIT: [integer(0, 1_000_000), '500', 'requests a second of each key, on this server; 0: no limit'],
  RATE_LIMIT_BURST: [integer(1, 1_000_000), '2000', 'requests that a key may make at once after a rest'],
  ADDRESS_RATE_LIMIT: [
    integer(0, 1_000_000),
    '100',
    'requests a second of each address that show a key which is not known, or none where none is asked for; 0: no limit',
  ],
  ADDRESS_RATE_LIMIT_BURST: [
    integer(1, 1_000_000),
    '1000',
    'such requests that an address may make at once after a rest',
  ],
  REQUESTS_AT_ONCE: [
    integer(0, 10_000),
    '4',
    'requests of one key that are worked on at once; the others wait for their turn. One that takes longer than 250 ms while the CPU has time makes room for the next. 0: no limit',
  ],
  HEAVY_DOCUMENTS: [
    integer(0, 1_000),
    '2',
    'GraphQL documents of one key that are worked on at once if they have more than 2 KB or cost more than 2,000; the others wait for their turn. 0: no limit',
  ],
  STREAMS_PER_WORKSPACE: [
    integer(0, 1_000_000),
    '12000',
    'streams (subscriptions) of one workspace at once; 0: no limit',
  ],
  WAITS_PER_WORKSPACE: [
    integer(0, 1_000_000),
    '2000',
    'calls of one workspace that wait for something at once, and as many of its listeners; 0: no limit',
  ],
  KEY_SHARE_PERCENT: [
    integer(1, 100),
    '85',
    'how much of its workspace’s streams and waits one key (or person with JWTs) may have; the rest is there for others',
  ],
  UPLOADS_PER_DEPLOYMENT: [
    integer(1, 10_000),
    '20',
    'addresses for uploads that one deployment may have at once, neither used nor expired',
  ],
  REVEALS_PER_MINUTE: [
    integer(0, 1_000_000),
    '30',
    'values of secrets that one key (or person) may have revealed in a minute, on this server; 0: no limit',
  ],
  CONNECTIONS_PER_ADDRESS: [
    integer(0, 1_000_000),
    '2000',
    'connections of one address that have not shown a valid key; more are closed. 0: no limit',
  ],
  REUSED_ANSWERS_MB: [
    integer(0, 100_000),
    '32',
    'memory for answers that are given again while nothing in their workspace has changed; 0: every answer is made anew',
  ],
  HEADER_SECONDS: [integer(1, 600), '10', 'how long the headers of a request may take to arrive'],
} as const satisfies SettingsTable
