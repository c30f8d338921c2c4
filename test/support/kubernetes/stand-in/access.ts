/** Authentication by bearer token, and authorization by the Roles that a namespace's RoleBindings grant. */
import { randomUUID } from 'node:crypto'
import { type Kind, kindNamed } from './kinds.ts'
import type { Json } from './objects.ts'
import { ApiError, forbidden } from './status.ts'
import type { Store } from './store.ts'

export interface Attempt {
  verb: string
  kind: Kind
  subresource: string | null
  namespace: string | undefined
  name: string
}

const ADMIN = 'admin'

export class Access {
  readonly adminToken: string
  readonly #store: Store
  /** user names by token */
  readonly #users = new Map<string, string>()

  constructor(store: Store) {
    this.#store = store
    this.adminToken = this.#issue(ADMIN)
  }

  /** A token for a ServiceAccount, as from TokenRequest. */
  issue(namespace: string, name: string): string {
    return this.#issue(`system:serviceaccount:${namespace}:${name}`)
  }

  #issue(user: string): string {
    const token = randomUUID()
    this.#users.set(token, user)
    return token
  }

  /** The user of a request. Throws 401 without a known token. */
  authenticate(authorization: string | undefined): string {
    const user = this.#users.get((authorization ?? '').replace(/^Bearer /i, ''))
    if (user === undefined) throw new ApiError(401, 'Unauthorized', 'Unauthorized')
    return user
  }

  /** Throws 403 if the call is not allowed. */
  authorize(user: string, { verb, kind, subresource, namespace, name }: Attempt): void {
    const resource = subresource ? `${kind.plural}/${subresource}` : kind.plural
    const grants = (list: string[], is: string) => list.includes('*') || list.includes(is)
    const isAllowed = this.#rules(user, namespace).some(
      ({ apiGroups, resources, verbs }) =>
        grants(apiGroups, kind.group) && grants(verbs, verb) && grants(resources, resource),
    )
    if (user === ADMIN || isAllowed) return
    const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`
    const refusal = `cannot ${verb} resource "${resource}" in API group "${kind.group}" ${where}`
    throw forbidden({ ...kind, plural: resource }, name, `User "${user}" ${refusal}`)
  }

  #rules(user: string, namespace = ''): Json[] {
    const isUser = (subject: Json) => user === `system:serviceaccount:${subject.namespace}:${subject.name}`
    return this.#store
      .all(kindNamed('RoleBinding'), namespace)
      .filter(({ subjects }) => subjects.some(isUser))
      .flatMap(({ roleRef }) => this.#store.get(kindNamed('Role'), namespace, roleRef.name)?.rules ?? [])
  }
}
