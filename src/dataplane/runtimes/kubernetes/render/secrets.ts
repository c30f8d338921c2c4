/**
 * Secrets: `data` in base64, because of `stringData` server-side apply keeps no record, so that a key once
 * applied would never be taken away again.
 */
import { createHash } from 'node:crypto'
import { DATABASE_KEYS, namesOf } from '../objects/names.ts'
import type { Application, Infrastructure, Manifest, Owner, PullCredentials } from '../objects/types.ts'
import { objectMetadata } from './metadata.ts'

/** Role and database of the agent's Postgres. */
export const DATABASE_USER = 'agent'
export const DATABASE_PORT = 5432
export const CACHE_PORT = 6379

/** The first object of a deployment and the last to go: passwords and addresses of its database and cache. */
export function databaseSecret(owner: Owner, { spec, databasePassword }: Infrastructure): Manifest {
  const names = namesOf(owner.deploymentId)
  // A Service is reached from every namespace of a cluster, so the cache has a password too. Made from the other one,
  // it needs no place of its own to be remembered in; hexadecimal, it is never taken for an option.
  const cachePassword = createHash('sha256').update(`cache:${databasePassword}`).digest('hex')
  const password = encodeURIComponent(databasePassword)
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: objectMetadata(names.database, { owner, spec, component: 'database' }),
    type: 'Opaque',
    data: base64({
      [DATABASE_KEYS.password]: databasePassword,
      // some drivers insist on TLS unless told
      [DATABASE_KEYS.uri]: `postgresql://${DATABASE_USER}:${password}@${names.database}:${DATABASE_PORT}/${DATABASE_USER}?sslmode=disable`,
      [DATABASE_KEYS.cachePassword]: cachePassword,
      [DATABASE_KEYS.cacheUri]: `redis://:${cachePassword}@${names.cache}:${CACHE_PORT}/0`,
    }),
  }
}

/** The password in a Secret that `databaseSecret` made; undefined when somebody took it out. */
export function databasePasswordOf(secret: { data?: unknown }): string | undefined {
  const encoded = (secret.data as Record<string, string> | undefined)?.[DATABASE_KEYS.password]
  return encoded ? Buffer.from(encoded, 'base64').toString('utf8') : undefined
}

/** The secrets of a revision, one object for each revision: the pods of the one before keep theirs. */
export function revisionSecret(owner: Owner, { revision, spec }: Application): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: objectMetadata(namesOf(owner.deploymentId).secrets(revision.number), {
      owner,
      spec,
      component: 'server',
      revisionId: revision.id,
    }),
    type: 'Opaque',
    data: base64(Object.fromEntries(revision.secrets.map(({ name, value }) => [secretKey(name), value]))),
  }
}

/** What the pods of a deployment pull its built images with. */
export function pullSecret(owner: Owner, { spec }: Application, credentials: PullCredentials): Manifest {
  const { registry, username, password } = credentials
  const auth = Buffer.from(`${username}:${password}`).toString('base64')
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: objectMetadata(namesOf(owner.deploymentId).pull, { owner, spec, component: 'server' }),
    type: 'kubernetes.io/dockerconfigjson',
    data: base64({ '.dockerconfigjson': JSON.stringify({ auths: { [registry]: { username, password, auth } } }) }),
  }
}

const MAX_KEY = 253

/** Our names may have 256 characters, keys of a Secret have at most 253. A dot is in no name, so no two keys are one. */
export function secretKey(name: string): string {
  if (name.length <= MAX_KEY) return name
  const digest = createHash('sha256').update(name).digest('hex')
  return `${name.slice(0, MAX_KEY - digest.length - 1)}.${digest}`
}

const base64 = (values: Record<string, string>) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]))
