/** Describes a plan: in one sentence for the build log and the API, and as the report of a build. */

import type { BuildPlanReport } from '../../../domain/protocol/protocol.ts'
import { BUILD_PLAN_LIMITS } from '../../../domain/protocol/requests.ts'
import type { BuildPlan, InstallStep, Start } from './build-plan.ts'

const NAMES = { node: 'Node', python: 'Python' }

export function describePlan(plan: BuildPlan): string {
  return plan.asItIs
    ? `an application without graphs, deployed as it is ("${plan.graphConfig}"): ${sentenceOf(plan)}`
    : sentenceOf(plan)
}

function sentenceOf(plan: BuildPlan): string {
  if (plan.kind === 'dockerfile')
    return hidePasswords(`an image from "${plan.dockerfile}", with ${quotedFolder(plan.context)} as its context.`)
  const { kind, server, supplied, install, start } = plan
  const steps = install.map((step) => `"${describeStep(step)}"${inFolder(step.folder)}`)
  const build =
    plan.kind === 'node' && plan.build ? `, built by "${plan.build.command}"${inFolder(plan.build.folder)}` : ''
  return hidePasswords(
    `${NAMES[kind]}${server === 'supplied' ? ' graphs and no server of their own' : ''}, ` +
      `${steps.length > 0 ? `installed by ${steps.join(', ')}` : 'with nothing to install'}${build}, ` +
      `${supplied ? `served by ${supplied.packages.join(' ')}, ` : ''}started by "${startLine(start)}"${inFolder(start.folder)} (${start.from}).`,
  )
}

/** The command as typed in a shell. May contain passwords of URLs. */
export function describeStep({ command }: Pick<InstallStep, 'command'>): string {
  const [program, option, line] = command
  return program === 'sh' && option === '-c' && line ? line : command.join(' ')
}

/** Replaces user and password of URLs, and makes the text one line. */
export const hidePasswords = (text: string): string =>
  text.replaceAll(/\s+/g, ' ').replaceAll(/(\w:\/\/)[^/@\s"']+@/g, '$1***@')

const startLine = ({ prestart, command }: Start): string => (prestart ? `${prestart} && ${command}` : command)
const inFolder = (folder: string): string => (folder === '.' ? '' : ` in ${quotedFolder(folder)}`)
const quotedFolder = (folder: string): string => (folder === '.' ? 'the root of the source' : `"${folder}"`)

/** Makes the part of a plan that a revision shows. */
export function planReport(plan: BuildPlan, mask: (text: string) => string): BuildPlanReport {
  const shown = (text: string, max = BUILD_PLAN_LIMITS.command) => hidePasswords(mask(text)).slice(0, max)
  const { kind, server } = plan
  const sentence = shown(describePlan(plan), BUILD_PLAN_LIMITS.sentence)
  if (kind === 'dockerfile') return { kind, server, sentence, install: [], build: null, start: null }
  return {
    kind,
    server,
    sentence,
    install: plan.install.slice(0, BUILD_PLAN_LIMITS.commands).map((step) => shown(describeStep(step))),
    build: plan.kind === 'node' && plan.build ? shown(plan.build.command) : null,
    start: shown(plan.start.command),
  }
}
