/** Port: what builders elsewhere fetch the source of a revision with. Implemented by the server (app/source-access.ts). */
import type { Readable } from 'node:stream'
import type { Explanation } from '../values/explanation.ts'

/** What can't be had, and what people can do about it. */
export interface Unavailable {
  failure: Explanation
}

export interface BuildSources {
  /** For the repository of the deployment; null: it is read without credentials. Waits at most `ms` for a provider that is down. */
  git(
    deploymentId: string,
    signal: AbortSignal,
    ms: number,
  ): Promise<{ credentials: { username: string; password: string; repoUrl?: string | undefined } | null } | Unavailable>
  /** The bytes of the revision's source tarball: exactly the one that was accepted. */
  tarball(revisionId: string, signal: AbortSignal): Promise<{ bytes: Readable } | Unavailable>
}
