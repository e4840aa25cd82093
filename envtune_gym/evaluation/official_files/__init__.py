"""Result files in the official layout: written for the benchmark's own scorer, and read and scored here.

`result/<model>/multi_turn/BFCL_v4_multi_turn_<category>_result.json` has a JSON line a task, `{"id": …, "result": …}`:
for each turn a list of steps. A step is the reply's text in the prompting mode, and in the native function-calling mode
a list of `{name: JSON text of the arguments}`, or the text where nothing was called.
"""
