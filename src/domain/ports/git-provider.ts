/**
 * Port: the git hosting provider, where an app of this server is installed. Implemented in `src/adapters/git-provider/`.
 * Every call may throw ProviderUnavailableError, and none may be made in a transaction.
 */
import { DomainError } from '../errors/errors.ts'

/** The provider did not answer, answered with 5xx, asks to wait too long, or rejects the app. */
export class ProviderUnavailableError extends DomainError {
  /** `what`: a clause for people, without secrets: "answered 503", "did not answer within 10 s" */
  constructor(what: string) {
    super('GITPROVIDER_UNAVAILABLE', `The git provider ${what}. Try again later.`)
  }
}

export interface ProviderInstallation {
  /** the provider's id */
  id: number
  /** login of the account it is installed for */
  account: string
  createdAt: Date
  suspended: boolean
}

export interface ProviderRepository {
  id: number
  name: string
  owner: string
  /** for cloning, https */
  url: string
  defaultBranch: string
}

/** `owner/name` */
type RepositoryName = string

export interface CloneToken {
  /** short-lived; reads this one repository */
  token: string
  /** the provider's id of the repository; a rename does not change it */
  repositoryId: number
  /** the present name */
  repository: RepositoryName
}

export interface NewCommitStatus {
  state: 'pending' | 'success' | 'failure' | 'error'
  /** tells several deployments of one commit apart */
  context: string
  /** cut to what the provider takes (140 characters) */
  description: string
  targetUrl: string | null
}

export interface GitProvider {
  /** Where a person installs the app; `state` comes back with the callback. */
  installUrl(state: string, signal?: AbortSignal): Promise<string>
  /** null: there is no such installation (any more). */
  installation(id: number, signal?: AbortSignal): Promise<ProviderInstallation | null>
  /** With an OAuth client: whether the person of this one-time `code` may use the installation. Null: no client is configured. */
  mayUse: ((code: string, installationId: number, signal?: AbortSignal) => Promise<boolean>) | null
  /** All repositories of the installation that are not archived, sorted by owner and name. Null: no such installation. */
  repositories(installationId: number, signal?: AbortSignal): Promise<ProviderRepository[] | null>
  /** The commit the branch points to now; null: no such branch, or the installation does not reach the repository. */
  branchHead(
    installationId: number,
    repository: RepositoryName,
    branch: string,
    signal?: AbortSignal,
  ): Promise<string | null>
  /** False: the provider will never take it (no such commit or repository any more). */
  createStatus(
    installationId: number,
    repository: RepositoryName,
    sha: string,
    status: NewCommitStatus,
    signal?: AbortSignal,
  ): Promise<boolean>
  /** Follows renames: `repository` may be a former name. Null: the installation does not reach the repository. */
  cloneToken(installationId: number, repository: RepositoryName, signal?: AbortSignal): Promise<CloneToken | null>
  /** `owner/name` of a repository's URL at this provider; null: it is somewhere else. */
  repositoryOf(repoUrl: string): RepositoryName | null
  /** Whether the signature (header X-Hub-Signature-256) is that of the raw body; in constant time. */
  verifyWebhook(rawBody: Buffer, signature: string | undefined): Promise<boolean>
}
