/** What the door knows about who may call which deployment. A server sends it, and the door keeps it in its folder. */
import type { JsonWebKey } from 'node:crypto'

export interface AccessCopy {
  /** deployments that the door may serve */
  deployments: readonly GuardedDeployment[]
  /** keys that are valid and may call deployments */
  keys: readonly CallerKey[]
  /** ids of valid sessions, which open links */
  sessions: readonly string[]
  /** public keys of signed links */
  linkKeys: readonly { id: string; jwk: JsonWebKey }[]
}

/** The deployments that the doors of a server's clusters serve. */
export interface DoorCluster {
  listeners: readonly string[]
  /** of deployments without a listener; null: they do not run in a cluster */
  namespace: string | null
}

export interface GuardedDeployment {
  id: string
  /** in its address; null: it has a port */
  name: string | null
  /** of its custom_url; absent: none, or the server is older */
  host?: string | null
  workspace: string
  organization: string
  access: 'workspace' | 'organization' | 'public'
  /** of its Service in a cluster; null: it runs on a machine */
  namespace?: string | null
  /** in whose cluster it runs; null: the server's. Absent: the server is older. */
  listener?: string | null
}

export interface CallerKey {
  id: string
  /** SHA-256 of the key, hex */
  hash: string
  organization: string
  /** null: valid in every workspace of the organization */
  workspace: string | null
  role: string
  /** ms since 1970; null: never */
  expires: number | null
}

/** Settings of the server that the door needs. */
export interface GuardSettings {
  /** issuer of the tokens that agents get: PUBLIC_URL */
  issuer: string
  /** hosts of deployments, with {name} */
  hosts: string
  /** whether browsers use https for the addresses of agents */
  secure: boolean
  /** addresses and ranges of proxies whose X-Forwarded-* headers are kept */
  trustProxy: readonly string[]
  /** hours without a server after which only public deployments are served */
  offlineHours: number
  /** null: the server accepts no JWTs */
  jwt: { issuer: string; audience: string; keys: readonly JsonWebKey[] } | null
  /** path of the access log; absent: none, or the server is older. Doors of clusters have a setting of their own. */
  accessLog?: string | undefined
}

/** What a server tells the door. `copy`: absent when the door has the one of this `hash`. */
export interface AccessNews {
  hash: string
  settings: GuardSettings
  copy?: AccessCopy
}
