/**
 * Credentials and uploaded tarballs that a build or deploy gets from its server. They are short-lived, so they are requested
 * right before use.
 */
import type { Readable } from 'node:stream'

export interface Credentials {
  username: string
  /** must not appear in an argument, URL, environment or log */
  password: string
}

export interface GitCredentials extends Credentials {
  /** the repository's present URL at the provider; absent: the deployment's URL is right */
  repoUrl?: string | undefined
}

export interface ImageCredentials extends Credentials {
  insecure?: boolean
}

/** All reject with StepFailure for problems that users can fix. */
export interface SourceAccess {
  /** Credentials for a `gitprovider` deployment's repository; null: none are needed. */
  gitCredentials(deploymentId: string, signal: AbortSignal): Promise<GitCredentials | null>
  /** The revision's source tarball, exactly as it was accepted. */
  tarball(revisionId: string, signal: AbortSignal): Promise<Readable>
  imageCredentials(deploymentId: string, imageUri: string, signal: AbortSignal): Promise<ImageCredentials | null>
}
