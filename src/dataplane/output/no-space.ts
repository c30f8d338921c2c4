/** A full disk, by whatever it shows: a code of the system, or what programs print, which have no code for it. */
import { StepFailure } from './step-failure.ts'

/** The one place for what git, npm, container engines and others print when they can't write any more. */
export const SAYS_NO_SPACE = /\bENOSPC\b|\bEDQUOT\b|no space left on device|disk quota exceeded/i

export const NO_SPACE = 'There is no space left in DATA_DIR'

export function noSpace(): StepFailure {
  return new StepFailure('NO_SPACE', `${NO_SPACE}: free some, then redeploy.`)
}

/** Whether it failed because the disk is full; also of a command, which says so in what it printed. */
export function isNoSpace(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, stderr } = error as NodeJS.ErrnoException & { stderr?: unknown }
  return code === 'ENOSPC' || code === 'EDQUOT' || SAYS_NO_SPACE.test(String(stderr ?? '')) || isNoSpace(error.cause)
}
