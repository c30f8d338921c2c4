/**
 * Which sources this runtime can run, and what would run the others.
 */
import type { RevisionWork } from '../../../domain/work/protocol.ts'
import { StepFailure } from '../../failure.ts'

/** Throws StepFailure for a revision that this runtime can't build and run. */
export function requireRunnable({ source }: RevisionWork): void {
  switch (source) {
    case 'gitprovider':
      return
    case 'internal_source':
      throw new StepFailure(
        'The process runtime of this server builds from git repositories only: use a gitprovider source for this code.',
      )
    case 'external_container':
    case 'internal_container':
      throw new StepFailure(
        'The process runtime of this server runs no container images: a listener with a Kubernetes cluster would run this one.',
      )
  }
}
