/** The configured container registry, as the domain sees it: who signs tokens for it (the Docker registry token protocol). Implemented in `src/registry/`. */

export type RegistryAction = 'pull' | 'push'

export interface RegistryAccess {
  /** without the registry's host */
  repository: string
  actions: readonly RegistryAction[]
}

export interface VerifiedToken {
  subject: string
  access: RegistryAccess[]
  expiresAt: Date
}

export interface Registry {
  /** host, with its port if it has one: what an image reference begins with */
  host: string
  service: string
  /** A signed token (JWT) for `subject` that allows just this, for `seconds`. */
  sign(subject: string, access: readonly RegistryAccess[], seconds: number): Promise<string>
  /** What a token of ours allows; null: it is none, or has expired. */
  verify(token: string): Promise<VerifiedToken | null>
}

/** The one repository of a deployment in the registry, without the registry's host. */
export function repositoryOf(deployment: { id: string; workspaceId: string }): string {
  return `${deployment.workspaceId}/${deployment.id}`
}
