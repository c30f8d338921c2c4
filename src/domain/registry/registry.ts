/** The configured container registry, as the domain sees it: who signs tokens for it (the Docker registry token protocol). Implemented in `src/registry/`. */
import { isRepositoryPath } from '../deployments/image-reference.ts'

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

/** Whether `name` is the repository or below it (`repository/…`). Both without the registry's host. */
export function coversRepository(repository: string, name: string): boolean {
  return name === repository || (name.startsWith(`${repository}/`) && isRepositoryPath(name))
}

/** The repository of a deployment in the registry, without the registry's host; those below it are the deployment's, too. */
export function repositoryOf(deployment: { id: string; workspaceId: string }): string {
  return `${deployment.workspaceId}/${deployment.id}`
}
