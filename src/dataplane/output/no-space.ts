/** Detects a full disk by error codes and by programs' output. */
import { StepFailure } from './step-failure.ts'

/** What git, npm, container engines and others print when the disk is full; they have no code for it. */
export const NO_SPACE_OUTPUT = /\bENOSPC\b|\bEDQUOT\b|no space left on device|disk quota exceeded/i

export const NO_SPACE_MESSAGE = 'There is no space left in DATA_DIR'

export function noSpaceFailure(): StepFailure {
  return new StepFailure('NO_SPACE', `${NO_SPACE_MESSAGE}: free some, then redeploy.`)
}

export function isNoSpaceError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, stderr } = error as NodeJS.ErrnoException & { stderr?: unknown }
  return (
    code === 'ENOSPC' || code === 'EDQUOT' || NO_SPACE_OUTPUT.test(String(stderr ?? '')) || isNoSpaceError(error.cause)
  )
}
