/**
 * The environment of an agent: the revision's secrets, the secret references, and what we set, which always wins. The
 * names that we set stand in the list of domain/secrets/rules.ts; a test holds the two together.
 */
import type { SecretReference } from '../../../../domain/protocol/protocol.ts'
import { AGENT_PORT, DATABASE_KEYS, namesOf } from '../objects/names.ts'
import type { Application, Owner } from '../objects/types.ts'
import { externalOf } from './external.ts'
import { secretKey } from './secrets.ts'

interface Variable {
  name: string
  value?: string
  valueFrom?: { secretKeyRef: { name: string; key: string } }
}

/** Values of secrets are in no pod: it only says where they are. */
const fromSecret = (name: string, secret: string, key: string): Variable => ({
  name,
  valueFrom: { secretKeyRef: { name: secret, key } },
})

export function environment(owner: Owner, app: Application, role: 'server' | 'queue'): Variable[] {
  const names = namesOf(owner.deploymentId)
  const { revision } = app
  const external = externalOf(app.secretReferences)
  const at = (reference: SecretReference | null, ours: string): [secret: string, key: string] =>
    reference ? [reference.secret_name, reference.secret_key] : [names.database, ours]
  const database = at(external.database, DATABASE_KEYS.uri)
  const cache = at(external.cache, DATABASE_KEYS.cacheUri)
  const variables = [
    ...revision.secrets.map(({ name }) => fromSecret(name, names.secrets(revision.number), secretKey(name))),
    // A redeployed revision brings secrets of its own time, the references are the deployment's of today: they win.
    ...app.secretReferences.map((it) => fromSecret(it.name, it.secret_name, it.secret_key)),
    { name: 'PORT', value: String(AGENT_PORT) },
    // a pod is reached from outside of it: an agent that asks must not listen on the loopback
    { name: 'HOST', value: '0.0.0.0' },
    fromSecret('DATABASE_URI', ...database),
    fromSecret('POSTGRES_URI', ...database),
    fromSecret('REDIS_URI', ...cache),
    { name: 'AGENT_SERVER_ROLE', value: role },
    { name: 'PILOTHOUSE_DEPLOYMENT_ID', value: owner.deploymentId },
    { name: 'PILOTHOUSE_REVISION_ID', value: revision.id },
  ]
  // the last of a name is the one, and API servers refuse a name that occurs twice
  return [...new Map(variables.map((variable) => [variable.name, variable])).values()]
}
