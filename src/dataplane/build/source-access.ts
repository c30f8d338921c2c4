/**
 * What a build on this machine gets from the server it is part of: credentials for a repository, the bytes of an
 * uploaded tarball, credentials for an image. Asked for right when it is needed, since all of them are short-lived.
 */
import type { Readable } from 'node:stream'

export interface Credentials {
  username: string
  /** never in an argument, a URL, an environment, or a log */
  password: string
}

export interface GitCredentials extends Credentials {
  /** the repository's present URL at the provider; absent: as the deployment has it */
  repoUrl?: string | undefined
}

export interface ImageCredentials extends Credentials {
  /** the registry is reached without TLS */
  insecure?: boolean
}

/** Each rejects with a StepFailure for what people can mend. */
export interface SourceAccess {
  /** Of a `gitprovider` deployment's repository; null: it is read without credentials. */
  gitCredentials(deploymentId: string, signal: AbortSignal): Promise<GitCredentials | null>
  /** Of the revision's source tarball: exactly the one that was accepted. */
  tarball(revisionId: string, signal: AbortSignal): Promise<Readable>
  /** For pulling an image; null: it is pulled without credentials. */
  imageCredentials(deploymentId: string, imageUri: string, signal: AbortSignal): Promise<ImageCredentials | null>
}
