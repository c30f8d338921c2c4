/** Port: access to the source of a revision for remote builders. app/source-access.ts implements it. */
import type { Readable } from 'node:stream'
import type { Explanation } from '../values/explanation.ts'

export interface Unavailable {
  failure: Explanation
}

export interface BuildSources {
  /**
   * Credentials for the deployment's repository; null: none are needed. Waits at most `ms` for a provider that is
   * down.
   */
  git(
    deploymentId: string,
    signal: AbortSignal,
    ms: number,
  ): Promise<{ credentials: { username: string; password: string; repoUrl?: string | undefined } | null } | Unavailable>
  /** The revision's source tarball, with the checksum that was accepted. */
  tarball(revisionId: string, signal: AbortSignal): Promise<{ bytes: Readable } | Unavailable>
}
