/** Settings of the limits for keys, addresses and workspaces (docs/api-rules.md#limits). */
import { integer, origins, ranges, type SettingsTable } from './setting-types.ts'

export const LIMIT_SETTINGS = {
  TRUST_PROXY: [
    ranges.prefault(''),
    null,
    'trusted proxies in front of this server, comma-separated: IP addresses, ranges (`10.0.0.0/8`). Their `X-Forwarded-For` names the client; their connections are not counted. None: the header is ignored',
  ],
  CORS_ORIGINS: [
    origins.prefault(''),
    null,
    'origins whose pages may call, comma-separated (`https://example.com`): with a key or a token, never with a session. None: only the dashboard',
  ],
  RATE_LIMIT: [integer(0, 1_000_000), '500', 'requests a second of each key, on this server; 0: no limit'],
  RATE_LIMIT_BURST: [integer(1, 1_000_000), '2000', 'burst of requests of one key after a pause'],
  ADDRESS_RATE_LIMIT: [
    integer(0, 1_000_000),
    '100',
    'requests a second of each address with an unknown key, or without a key where none is needed; 0: no limit',
  ],
  ADDRESS_RATE_LIMIT_BURST: [integer(1, 1_000_000), '1000', 'burst of such requests of one address after a pause'],
  REQUESTS_AT_ONCE: [
    integer(0, 10_000),
    '4',
    'concurrent requests of one key; the others wait for their turn. A request that takes longer than 250 ms while the CPU is idle makes room for the next. 0: no limit',
  ],
  HEAVY_DOCUMENTS: [
    integer(0, 1_000),
    '2',
    'concurrent GraphQL documents of one key that have more than 2 KB or cost more than 2,000; the others wait for their turn. 0: no limit',
  ],
  STREAMS_PER_WORKSPACE: [
    integer(0, 1_000_000),
    '12000',
    'concurrent streams (subscriptions) of one workspace; 0: no limit',
  ],
  WAITS_PER_WORKSPACE: [
    integer(0, 1_000_000),
    '2000',
    'concurrent waiting calls (long polls) of one workspace, and as many of its listeners; 0: no limit',
  ],
  KEY_SHARE_PERCENT: [
    integer(1, 100),
    '85',
    'share of its workspace’s streams and waits that one key (or person with JWTs) may use; the rest is for others',
  ],
  UPLOADS_PER_DEPLOYMENT: [integer(1, 10_000), '20', 'open upload URLs of one deployment, neither used nor expired'],
  REVEALS_PER_MINUTE: [
    integer(0, 1_000_000),
    '30',
    'secret values that one key (or person) may reveal in a minute, on this server; 0: no limit',
  ],
  CONNECTIONS_PER_ADDRESS: [
    integer(0, 1_000_000),
    '2000',
    'connections of one address without a valid key so far; more are closed. 0: no limit',
  ],
  RESPONSE_CACHE_MB: [
    integer(0, 100_000),
    '32',
    'size of the response cache, which serves a response again while its workspace is unchanged; 0: no cache',
  ],
  HEADER_SECONDS: [integer(1, 600), '10', 'how long the headers of a request may take to arrive'],
} as const satisfies SettingsTable
