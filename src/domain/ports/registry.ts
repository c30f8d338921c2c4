/** Port: signs and verifies tokens for the configured container registry (Docker registry token protocol). Implemented in `src/adapters/registry/`. */
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
  /** with its port if it has one: what image references start with */
  host: string
  /** it is reached without TLS */
  insecure: boolean
  service: string
  /** A signed token (JWT) for `subject` with just this access, valid for `seconds`. */
  sign(subject: string, access: readonly RegistryAccess[], seconds: number): Promise<string>
  /** The access that a token grants; null: it is invalid or has expired. */
  verify(token: string): Promise<VerifiedToken | null>
  /** A password for our realm that pulls from this repository, always the same. */
  pullPassword(repository: string): string
  /** The repository that such a password is for; null: it is none. */
  pulls(password: string): string | null
  /** All tags of a repository; none where nothing was pushed to it. Rejects, as the next two, when the registry does not answer. */
  tags(repository: string): Promise<string[]>
  /** `sha256:…` of what the tag stands for now; null: it is gone. */
  digestOf(repository: string, tag: string): Promise<string | null>
  /** Removes an image, with all of its tags; false: the registry does not allow that. */
  remove(repository: string, digest: string): Promise<boolean>
}

/** Whether `name` is `repository`, or below it (`repository/…`). Both without the registry's host. */
export function coversRepository(repository: string, name: string): boolean {
  return name === repository || (name.startsWith(`${repository}/`) && isRepositoryPath(name))
}

/** The repository of a deployment, without the registry's host; repositories below it belong to the deployment, too. */
export function repositoryOf(deployment: { id: string; workspaceId: string }): string {
  return `${deployment.workspaceId}/${deployment.id}`
}
