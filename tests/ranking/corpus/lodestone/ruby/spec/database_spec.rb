# frozen_string_literal: true

require "lodestone"
require "tmpdir"

RSpec.describe Lodestone::Database do
  around do |example|
    Dir.mktmpdir { |directory| Lodestone.open(directory) { |database| @database = database and example.run } }
  end

  it "gives back what was put in" do
    @database["answer"] = "42"
    expect(@database["answer"]).to eq "42"
    expect(@database["question"]).to be_nil
  end

  it "fetches like a hash" do
    expect { @database.fetch("nothing") }.to raise_error(KeyError)
    expect(@database.fetch("nothing") { |key| key * 2 }).to eq "nothingnothing"
  end

  it "applies a batch together" do
    @database.batch { |batch| batch.put("a", "1").put("b", "2") }
    expect(@database["b"]).to eq "2"
  end

  it "refuses to work once closed" do
    @database.close
    expect { @database["answer"] }.to raise_error(Lodestone::ClosedError)
  end

  it "keeps a second process out" do
    expect { Lodestone.open(@database.directory) }.to raise_error(Lodestone::LockedError)
  end
end
