/** Renders Secrets with base64 `data`: server-side apply never removes a key of `stringData`. */
import { createHash } from 'node:crypto'
import { DATABASE_KEYS, namesOf } from '../objects/names.ts'
import type { Application, DeploymentRef, Infrastructure, Manifest, PullCredentials } from '../objects/types.ts'
import { objectMetadata } from './metadata.ts'

export const DATABASE_USER = 'agent'
export const DATABASE_PORT = 5432
export const CACHE_PORT = 6379

/** The first object of a deployment and the last to be deleted: passwords and addresses of database and cache. */
export function databaseSecret(deployment: DeploymentRef, { spec, databasePassword }: Infrastructure): Manifest {
  const names = namesOf(deployment.deploymentId)
  // Every namespace of a cluster can reach a Service, so the cache needs a password. It is derived from the database's
  // password, so it needs no storage. In hexadecimal it can't be mistaken for an option.
  const cachePassword = createHash('sha256').update(`cache:${databasePassword}`).digest('hex')
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: objectMetadata(names.database, { deployment, spec, component: 'database' }),
    type: 'Opaque',
    data: base64({
      [DATABASE_KEYS.password]: databasePassword,
      // some drivers require TLS by default
      [DATABASE_KEYS.uri]: databaseUri(names.database, databasePassword),
      [DATABASE_KEYS.cachePassword]: cachePassword,
      [DATABASE_KEYS.cacheUri]: `redis://:${cachePassword}@${names.cache}:${CACHE_PORT}/0`,
    }),
  }
}

/** `host`: a name of the database's Service, or its address. */
export const databaseUri = (host: string, password: string) =>
  `postgresql://${DATABASE_USER}:${encodeURIComponent(password)}@${host}:${DATABASE_PORT}/${DATABASE_USER}?sslmode=disable`

/** Reads the password from a Secret of `databaseSecret`; undefined: someone removed it. */
export function databasePasswordOf(secret: { data?: unknown }): string | undefined {
  const encoded = (secret.data as Record<string, string> | undefined)?.[DATABASE_KEYS.password]
  return encoded ? Buffer.from(encoded, 'base64').toString('utf8') : undefined
}

/** Secret of one revision. Pods of the previous revision keep their own. */
export function revisionSecret(deployment: DeploymentRef, { revision, spec }: Application): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: objectMetadata(namesOf(deployment.deploymentId).secrets(revision.number), {
      deployment,
      spec,
      component: 'server',
      revisionId: revision.id,
    }),
    type: 'Opaque',
    data: base64(Object.fromEntries(revision.secrets.map(({ name, value }) => [secretKey(name), value]))),
  }
}

export function pullSecret(deployment: DeploymentRef, { spec }: Application, credentials: PullCredentials): Manifest {
  const { registry, username, password } = credentials
  const auth = Buffer.from(`${username}:${password}`).toString('base64')
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: objectMetadata(namesOf(deployment.deploymentId).pull, { deployment, spec, component: 'server' }),
    type: 'kubernetes.io/dockerconfigjson',
    data: base64({ '.dockerconfigjson': JSON.stringify({ auths: { [registry]: { username, password, auth } } }) }),
  }
}

const MAX_KEY = 253

/** Secret names may have 256 characters, but Secret keys at most 253. Names contain no dot, so keys stay unique. */
export function secretKey(name: string): string {
  if (name.length <= MAX_KEY) return name
  const digest = createHash('sha256').update(name).digest('hex')
  return `${name.slice(0, MAX_KEY - digest.length - 1)}.${digest}`
}

const base64 = (values: Record<string, string>) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]))
