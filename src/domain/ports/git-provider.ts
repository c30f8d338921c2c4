/** Port: the git provider. Calls throw ProviderUnavailableError; none belongs in a transaction. */
import { DomainError } from '../errors/errors.ts'

/** The provider did not answer, answered 5xx, asks for a long pause, or rejects the app. */
export class ProviderUnavailableError extends DomainError {
  /** `cause`: a clause without secrets, such as "answered 503" or "did not answer within 10 s". */
  constructor(cause: string) {
    super('GITPROVIDER_UNAVAILABLE', `The git provider ${cause}. Try again later.`)
  }
}

export interface ProviderInstallation {
  id: number
  account: string
  createdAt: Date
  suspended: boolean
}

export interface ProviderRepository {
  id: number
  name: string
  owner: string
  url: string
  defaultBranch: string
}

/** `owner/name` */
type RepositoryName = string

export interface CloneToken {
  /** short-lived, for reading this repository only */
  token: string
  /** the provider's id of the repository; a rename does not change it */
  repositoryId: number
  repository: RepositoryName
}

export interface NewCommitStatus {
  state: 'pending' | 'success' | 'failure' | 'error'
  /** distinguishes deployments that build the same commit */
  context: string
  /** cut to the provider's maximum of 140 characters */
  description: string
  targetUrl: string | null
}

export interface GitProvider {
  /** The page where a person installs the app. The callback contains `state`. */
  installUrl(state: string, signal?: AbortSignal): Promise<string>
  installation(id: number, signal?: AbortSignal): Promise<ProviderInstallation | null>
  /** Whether the person with this one-time `code` may use the installation. Null: no OAuth client is configured. */
  mayUse: ((code: string, installationId: number, signal?: AbortSignal) => Promise<boolean>) | null
  /** All repositories that are not archived, sorted by owner and name. Null: no such installation. */
  repositories(installationId: number, signal?: AbortSignal): Promise<ProviderRepository[] | null>
  /** The branch's current commit. Null: no such branch, or the installation has no access to the repository. */
  branchHead(
    installationId: number,
    repository: RepositoryName,
    branch: string,
    signal?: AbortSignal,
  ): Promise<string | null>
  /** False: the provider rejects it permanently, because the commit or repository does not exist. */
  createStatus(
    installationId: number,
    repository: RepositoryName,
    sha: string,
    status: NewCommitStatus,
    signal?: AbortSignal,
  ): Promise<boolean>
  /** Follows renames, so `repository` may be an earlier name. Null: the installation has no access to it. */
  cloneToken(installationId: number, repository: RepositoryName, signal?: AbortSignal): Promise<CloneToken | null>
  /** `owner/name` of a repository URL of this provider. Null: another host. */
  repositoryOf(repoUrl: string): RepositoryName | null
  /** Whether the X-Hub-Signature-256 header matches the raw body. Compared in constant time. */
  verifyWebhook(rawBody: Buffer, signature: string | undefined): Promise<boolean>
}
