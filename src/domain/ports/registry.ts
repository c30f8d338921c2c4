/** Port: tokens and images of the container registry (Docker registry token protocol, `src/adapters/registry/`). */
import { isRepositoryPath } from '../values/image-reference.ts'

type RegistryAction = 'pull' | 'push' | 'delete'

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
  /** with the port if there is one */
  host: string
  /** uses http instead of https */
  insecure: boolean
  service: string
  /** A signed JWT for `subject` with exactly this access, valid for `seconds`. */
  sign(subject: string, access: readonly RegistryAccess[], seconds: number): Promise<string>
  /** Null: the token is invalid or expired. */
  verify(token: string): Promise<VerifiedToken | null>
  /** The constant password that pulls from this repository, for the registry's token realm. */
  pullPassword(repository: string): string
  /** Null: not a valid password. */
  pulls(password: string): string | null
  /**
   * All tags of a repository; empty if nothing was pushed. Rejects if the registry does not answer, like the next two.
   */
  tags(repository: string): Promise<string[]>
  /** `sha256:…`. Null: no such tag. */
  digestOf(repository: string, tag: string): Promise<string | null>
  /** False: the registry does not allow it. */
  remove(repository: string, digest: string): Promise<boolean>
}

/** Whether `name` is `repository` or below it (`repository/…`). Both without the registry's host. */
export function coversRepository(repository: string, name: string): boolean {
  return name === repository || (name.startsWith(`${repository}/`) && isRepositoryPath(name))
}

/** The repository of a deployment, without the registry's host. Repositories below it belong to the deployment, too. */
export function repositoryOf(deployment: { id: string; workspaceId: string }): string {
  return `${deployment.workspaceId}/${deployment.id}`
}
