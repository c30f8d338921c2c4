/** A full disk, by whatever it shows: a code of the system, or what programs print, which have no code for it. */
import { StepFailure } from './step-failure.ts'

/** The one place for what git, npm, container engines and others print when they can't write any more. */
export const NO_SPACE_OUTPUT = /\bENOSPC\b|\bEDQUOT\b|no space left on device|disk quota exceeded/i

export const NO_SPACE_MESSAGE = 'There is no space left in DATA_DIR'

export function noSpaceFailure(): StepFailure {
  return new StepFailure('NO_SPACE', `${NO_SPACE_MESSAGE}: free some, then redeploy.`)
}

/** Whether it failed because the disk is full; also of a command, which says so in what it printed. */
export function isNoSpaceError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, stderr } = error as NodeJS.ErrnoException & { stderr?: unknown }
  return (
    code === 'ENOSPC' || code === 'EDQUOT' || NO_SPACE_OUTPUT.test(String(stderr ?? '')) || isNoSpaceError(error.cause)
  )
}
