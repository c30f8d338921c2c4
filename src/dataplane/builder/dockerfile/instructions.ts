/** Instructions of a Dockerfile, each on a line of its own whatever is in it. */
import { StepFailure } from '../../output/step-failure.ts'

/** Throws StepFailure for a word with a line break, which these instructions have no way to write. */
export function instruction(instruction: string, ...words: string[]): string {
  const broken = words.find((word) => /[\r\n]/.test(word))
  if (broken === undefined) return `${instruction} ${words.join(' ')}`
  throw new StepFailure('CONFIG_INVALID', `An image can't be made of a folder with a line break in its name: ${broken}`)
}

/** `script`: for a shell, of any number of lines. `options`: of the instruction. */
export const runInstruction = (script: string, ...options: string[]): string =>
  ['RUN', ...options, JSON.stringify(['/bin/sh', '-c', script])].join(' ')

/** Files, and the folder that they come into, below the working folder. Names are taken as they are. */
export function copyInstruction(files: string[], folder: string, owner: string): string {
  const to = folder === '.' ? './' : `./${folder}/`
  return `COPY --chown=${owner} ${JSON.stringify([...files.map(escapePattern), escapeVariables(to)])}`
}

/** The engine replaces variables in names, and takes some characters for patterns. */
const escapePattern = (name: string): string => escapeVariables(name).replaceAll(/[*?[]/g, '[$&]')
const escapeVariables = (name: string): string => name.replaceAll(/[$\\]/g, '\\$&')
