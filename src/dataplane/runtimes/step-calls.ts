/** The calls of steps that are under way in a runtime, so that one that does not heed its signal can be abandoned. */
export class StepCalls {
  readonly #inFlight = new Map<string, (error: Error) => void>()

  /** Settles as `work` does, or rejects when it is abandoned before; what it gives after that goes to `late`. */
  run<T>(
    stepId: string,
    work: () => Promise<T>,
    late: (result: T) => Promise<void> = async () => undefined,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      let abandoned = false
      const abandon = (error: Error) => {
        abandoned = true
        reject(error)
      }
      this.#inFlight.set(stepId, abandon)
      void work()
        .then(async (result) => (abandoned ? await late(result) : resolve(result)))
        .catch(reject)
        .finally(() => {
          if (this.#inFlight.get(stepId) === abandon) this.#inFlight.delete(stepId)
        })
    })
  }

  /** Whatever it does from now on, nobody waits for it. */
  abandon(stepId: string): void {
    this.#inFlight.get(stepId)?.(new Error('The step did not stop when it was told to, and was abandoned'))
  }
}
