/** Writes Dockerfile instructions, each on one line for any input. */
import { StepFailure } from '../output/step-failure.ts'

/** Throws StepFailure for a word with a line break, which these instructions can't contain. */
export function instruction(instruction: string, ...words: string[]): string {
  const broken = words.find((word) => /[\r\n]/.test(word))
  if (broken === undefined) return `${instruction} ${words.join(' ')}`
  throw new StepFailure('CONFIG_INVALID', `A path with a line break can't be used in an image: ${broken}`)
}

export const runInstruction = (script: string, ...options: string[]): string =>
  ['RUN', ...options, JSON.stringify(['/bin/sh', '-c', script])].join(' ')

/** Copies files into a folder below the working folder. File names are literal. */
export function copyInstruction(files: string[], folder: string, owner: string): string {
  const to = folder === '.' ? './' : `./${folder}/`
  return `COPY --chown=${owner} ${JSON.stringify([...files.map(escapePattern), escapeVariables(to)])}`
}

/** The engine expands variables in names, and treats some characters as patterns. */
const escapePattern = (name: string): string => escapeVariables(name).replaceAll(/[*?[]/g, '[$&]')
const escapeVariables = (name: string): string => name.replaceAll(/[$\\]/g, '\\$&')
