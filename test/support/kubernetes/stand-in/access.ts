/** Authentication by bearer token, and authorization by the Roles that a namespace's RoleBindings grant. */
import { randomBytes } from 'node:crypto'
import { type Kind, kindNamed } from './kinds.ts'
import type { Json } from './objects.ts'
import { ApiError, forbidden } from './status.ts'
import type { Store } from './store.ts'

export interface User {
  name: string
  groups: string[]
}

export interface Attempt {
  verb: string
  kind: Kind
  subresource: string | null
  namespace: string | undefined
  name: string
}

const ADMINS = 'system:masters'

export class Access {
  readonly adminToken = `admin-${randomBytes(16).toString('hex')}`
  readonly #store: Store
  readonly #users = new Map<string, { user: User; uid: string | null; expires: number }>()

  readonly #anonymous: User

  /** @param open without a token the caller is admin; otherwise it has no permissions */
  constructor(store: Store, open: boolean) {
    this.#store = store
    this.#anonymous = { name: 'system:anonymous', groups: [open ? ADMINS : 'system:unauthenticated'] }
    this.#users.set(this.adminToken, { user: { name: 'admin', groups: [ADMINS] }, uid: null, expires: Infinity })
  }

  /** A token for a ServiceAccount, as from TokenRequest. It becomes invalid with the account. */
  issue(namespace: string, name: string, uid: string, seconds: number): string {
    const token = `sa-${randomBytes(24).toString('hex')}`
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`]
    const user = { name: `system:serviceaccount:${namespace}:${name}`, groups }
    this.#users.set(token, { user, uid, expires: Date.now() + seconds * 1000 })
    return token
  }

  /** Throws 401 for an unknown or expired token. Without a token the caller is anonymous. */
  authenticate(authorization: string | undefined): User {
    if (!authorization) return this.#anonymous
    const known = this.#users.get(authorization.replace(/^Bearer /i, ''))
    if (!known || known.expires < Date.now() || (known.uid && !this.#accountLives(known.user.name, known.uid))) {
      throw new ApiError(401, 'Unauthorized', 'Unauthorized')
    }
    return known.user
  }

  #accountLives(userName: string, uid: string): boolean {
    const [, , namespace, name] = userName.split(':')
    return this.#store.get(kindNamed('ServiceAccount'), namespace, name!)?.metadata.uid === uid
  }

  allows(user: User, { verb, kind, subresource, namespace, name }: Attempt): boolean {
    if (user.groups.includes(ADMINS)) return true
    if (namespace === undefined) return false
    const resource = subresource ? `${kind.plural}/${subresource}` : kind.plural
    return this.#rules(user, namespace).some(
      (rule) =>
        matches(rule.apiGroups, kind.group) &&
        matches(rule.verbs, verb) &&
        (matches(rule.resources, resource) || (subresource && rule.resources?.includes(`*/${subresource}`))) &&
        (!rule.resourceNames?.length || rule.resourceNames.includes(name)),
    )
  }

  /** Throws 403 if the call is not allowed. */
  authorize(user: User, attempt: Attempt): void {
    if (this.allows(user, attempt)) return
    const { verb, kind, subresource, namespace, name } = attempt
    const resource = subresource ? `${kind.plural}/${subresource}` : kind.plural
    const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`
    const refusal = `cannot ${verb} resource "${resource}" in API group "${kind.group}" ${where}`
    throw forbidden({ ...kind, plural: resource }, name, `User "${user.name}" ${refusal}`)
  }

  #rules(user: User, namespace: string): Json[] {
    return this.#store
      .all(kindNamed('RoleBinding'), namespace)
      .filter(({ subjects }) => (subjects ?? []).some((subject: Json) => isSubject(user, subject, namespace)))
      .filter(({ roleRef }) => roleRef.kind === 'Role')
      .flatMap(({ roleRef }) => this.#store.get(kindNamed('Role'), namespace, roleRef.name)?.rules ?? [])
  }
}

const matches = (allowed: string[] | undefined, is: string): boolean =>
  allowed?.includes('*') || allowed?.includes(is) || false

function isSubject(user: User, subject: Json, namespace: string): boolean {
  if (subject.kind === 'User') return subject.name === user.name
  if (subject.kind === 'Group') return user.groups.includes(subject.name)
  return user.name === `system:serviceaccount:${subject.namespace ?? namespace}:${subject.name}`
}
