/** What builds on this machine get from their own server (see dataplane/build/source-access.ts). */
import type { SourceAccess } from '../dataplane/build/source-access.ts'
import type { Core } from '../domain/context.ts'
import { gitCredentials } from './git-credentials.ts'
import { imageCredentials } from './image-credentials.ts'
import { tarball } from './tarball.ts'

export function createSourceAccess(core: Core): SourceAccess {
  return {
    gitCredentials: (deploymentId, signal) => gitCredentials(core, deploymentId, signal),
    tarball: (revisionId, signal) => tarball(core, revisionId, signal),
    imageCredentials: (deploymentId, imageUri) => imageCredentials(core, deploymentId, imageUri),
  }
}
