/** Runs of a steady agent that outlast a deploy and a rollback: one streams, one works without an open request. */
import { type Deployed, found, type SteadyPlace } from './place.ts'

export interface LongRuns {
  /** last line of the stream: `success`, unless it was cut */
  streamed: string
  /** from the start to the end of the stream */
  seconds: number
  /** `success` when the run without a request ended by itself */
  background: string
  /** number of replaced agents after the rollback, as the deployment's health says */
  draining: number
}

/** Starts both runs, deploys, and rolls back to the revision that began them. `after`: seconds of the second after the first. */
export async function longRuns(place: SteadyPlace, agent: Deployed, seconds: number, after = 0): Promise<LongRuns> {
  const [revision] = await place.revisions(agent.id)
  const began = performance.now()
  const streamed = lastLine(`${agent.url}/run?seconds=${seconds}`).then((line) => [line, performance.now()] as const)
  await fetch(`${agent.url}/background?seconds=${seconds + after}`, { method: 'POST' })
  await place.reaches(agent.id, await place.update(agent.id, 'during the runs'), 'DEPLOYED')
  await place.redeploy(agent.id, revision!.id)
  await place.reaches(agent.id, revision!.id, 'DEPLOYED')
  // the agent of the deploy has no runs and ends
  const draining = await found(async () => (await place.health(agent.id)).draining)
  const [line, ended] = await streamed
  const ofBackground = async () => (await fetch(`${agent.url}/background`)).text()
  const background = await found(async () => {
    const text = await ofBackground()
    return text !== 'running' && text
  }).catch(ofBackground)
  return { streamed: line, seconds: Math.round((ended - began) / 1000), background, draining }
}

async function lastLine(url: string): Promise<string> {
  try {
    const text = await (await fetch(url)).text()
    return text.trim().split('\n').at(-1)!
  } catch (error) {
    return (error as Error).message
  }
}
